"""Push consumers of one target, with an engine that is turned by hand."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tests.support.brokers import Broker
from tests.support.calls import get, put
from tests.support.engines import Hand
from tests.support.jobs import job, make_jobs
from tests.support.target import Target
from tests.support.walk import register

CONSUMER = "/channel/channel/consumer/consumer"
LONGEST_SECONDS = 20.0


class Pushing:
    """A channel whose consumer of the same name is pushed to the target's path of that name."""

    def __init__(self, broker: Broker, hand: Hand, target: Target) -> None:
        self.broker, self.hand, self.target = broker, hand, target
        self.client = broker.client
        register(self.client, consumers=())

    def consumer(self, name: str = "consumer", channel: str = "channel", /, **settings: object) -> Any:
        """Make or change a consumer; it has no breaker unless it is given one."""
        known = {"callbackUrl": self.target.url(f"/{channel}/{name}"), "breakerThreshold": 0}
        return put(self.client, f"/channel/{channel}/consumer/{name}", **{**known, **settings})

    def lonely(self, name: str, **settings: object) -> Any:
        """A channel with one consumer, both of this name."""
        register(self.client, channel=name, consumers=())
        return self.consumer(name, name, **settings)

    def publish(self, count: int = 1, channel: str = "channel", /, **item: object) -> list[str]:
        """So many messages; gives the ids of their jobs."""
        return make_jobs(self.client, count, channel, **item)

    def fail_once(self, **item: object) -> Any:
        """One job is published and tried; gives what is known of it."""
        (job_id,) = self.publish(**item)
        self.hand.deliver()
        return self.job(job_id)

    def job(self, job_id: str) -> Any:
        """A job as the admin sees it."""
        return job(self.broker, job_id)

    def shown(self, path: str = CONSUMER) -> Any:
        """A consumer, or anything else."""
        return get(self.client, path)

    def later(self, seconds: float) -> None:
        """Move time and do what is due then."""
        self.broker.clock.advance(timedelta(seconds=seconds))
        self.hand.deliver()

    def until(self, done: Callable[[], bool], seconds: float = LONGEST_SECONDS) -> float:
        """Turn the engine until it is so; gives how long it took."""
        begun = time.monotonic()
        while not done():
            assert time.monotonic() - begun < seconds, f"it did not happen; {len(self.target.received)} came"
            self.hand.engine.step(0.002)
        return time.monotonic() - begun

    def came(self, path: str = "/channel/consumer") -> int:
        """How many deliveries a path has had."""
        return sum(one.path == path for one in list(self.target.received))
