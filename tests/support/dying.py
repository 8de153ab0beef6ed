"""A push consumer whose deliveries fail, so that its jobs die at once."""

from typing import Any

from tests.support.brokers import Broker
from tests.support.calls import put
from tests.support.engines import Hand
from tests.support.jobs import listed, make_jobs
from tests.support.target import Answer, Target
from tests.support.walk import register

PUSHED = "/channel/channel/consumer/pushed"


class Dying:
    """Publishes messages and lets the engine fail with them."""

    def __init__(self, broker: Broker, hand: Hand, target: Target, **settings: object) -> None:
        self.broker, self.hand, self.target = broker, hand, target
        target.rule = lambda _: Answer(500, body=b"no")
        register(broker.client, consumers=())
        self.configure(
            **{"type": "push", "callbackUrl": target.url(), "maxRetries": 0, "breakerThreshold": 0, **settings}
        )

    def configure(self, **settings: object) -> Any:
        """Change the consumer."""
        return put(self.broker.client, PUSHED, **settings)

    def kill(self, count: int = 1, **item: object) -> list[str]:
        """So many jobs are tried and fail; oldest first."""
        ids = []
        for _ in range(count):
            ids += make_jobs(self.broker.client, 1, "channel", **item)
            self.hand.deliver()
        return ids

    def listed(self, state: str = "all") -> list[str]:
        """The consumer's jobs in a state, newest first."""
        return listed(self.broker, state, path=f"{PUSHED}/jobs")


def dead_channel(broker: Broker, name: str = "dead") -> list[str]:
    """The jobs that wait in a dead channel."""
    return listed(broker, "all", path=f"/channel/{name}/consumer/dead-letters/jobs")
