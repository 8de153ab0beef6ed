"""Two instances of one broker and a target, watched by a real Prometheus."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.brokers import ADMIN, LiveBroker
from tests.support.engines import LOOPBACK
from tests.support.prometheus import Prometheus
from tests.support.target import Answer, Received, Target
from tests.support.walk import PRODUCER_TOKEN, PUBLISHER

TOKENS = {"X-Broker-Channel-Token": PUBLISHER["X-Broker-Channel-Token"], "X-Broker-Consumer-Token": "consumer-token"}
MONITOR_TOKEN = "test-monitor-token"
SETTINGS = {
    "BROKER_DELIVERY_ALLOWED_NETWORKS": LOOPBACK,
    "BROKER_DLQ_SETTLE": "1s",
    "BROKER_DLQ_SUMMARY_INTERVAL": "5s",
    "BROKER_MONITOR_TOKEN": MONITOR_TOKEN,
}


class Watched:
    """The broker as its producers, its consumers and its operators see it."""

    def __init__(
        self, client: httpx.Client, instances: list[LiveBroker], target: Target, prometheus: Prometheus
    ) -> None:
        self.instances, self.target, self.prometheus = instances, target, prometheus
        self._client, self._failing = client, set[str]()
        target.rule = self._answer
        self._put("/producer/producer", token=PRODUCER_TOKEN)

    def channel(self, name: str) -> None:
        self._put(f"/channel/{name}", token=TOKENS["X-Broker-Channel-Token"])

    def consumer(self, channel: str, name: str, **settings: Any) -> None:
        """Pushed to the target, one delivery a job, without a breaker, unless the settings say otherwise."""
        pushed = {"callbackUrl": self.target.url(f"/{channel}/{name}"), "maxRetries": 0, "breakerThreshold": 0}
        known = {"token": TOKENS["X-Broker-Consumer-Token"], **({} if settings.get("type") == "pull" else pushed)}
        self._put(_place(channel, name), **{**known, **settings})

    def fails(self, channel: str, consumer: str, fails: bool = True) -> None:
        """Its target answers 500 from now on, or 200 again."""
        (self._failing.add if fails else self._failing.discard)(f"/{channel}/{consumer}")

    def publish(self, channel: str, count: int) -> None:
        batch = {"messages": [{"payload": "x"}] * count}
        answer = self._client.post(f"/channel/{channel}/broadcast-batch", json=batch, headers=PUBLISHER)
        assert answer.json()["created"] == count, answer.text

    def dead(self, channel: str, consumer: str) -> int:
        """As /dlq-status tells it."""
        asked = {"channel": channel, "consumer": consumer}
        (standing,) = self._client.get("/dlq-status", params=asked).json()["consumers"]
        return int(standing["deadCount"])

    def act(self, method: str, channel: str, consumer: str, path: str = "/dlq") -> dict[str, Any]:
        """What its owner asks for; gives the answer."""
        answer = self._client.request(method, _place(channel, consumer) + path, headers=TOKENS, json={})
        assert answer.status_code in {200, 202}, answer.text
        told: dict[str, Any] = answer.json()
        return told

    def metrics(self) -> str:
        return self._client.get("/metrics").text

    def _put(self, path: str, **fields: Any) -> None:
        answer = self._client.put(path, json=fields)
        assert answer.status_code == 200, answer.text

    def _answer(self, received: Received) -> Answer:
        return Answer(500, body=b"no") if received.path in self._failing else Answer(200)


@contextmanager
def watched(folder: Path, database_url: str) -> Iterator[Watched]:
    """All of it, until the end of the block."""
    with ExitStack() as stack:
        instances = []
        for command in ("up", "serve"):
            instances.append(LiveBroker(database_url, folder / f"{command}.log", command, **SETTINGS))
            stack.callback(instances[-1].kill)
        target = stack.enter_context(Target())
        prometheus = Prometheus(folder, addresses_of(instances), MONITOR_TOKEN)
        stack.callback(prometheus.stop)
        client = stack.enter_context(httpx.Client(base_url=instances[0].url, headers=ADMIN, timeout=20))
        yield Watched(client, instances, target, prometheus)


def addresses_of(instances: list[LiveBroker]) -> list[str]:
    """As a configuration names them."""
    return [live.url.removeprefix("http://") for live in instances]


def _place(channel: str, consumer: str) -> str:
    return f"/channel/{channel}/consumer/{consumer}"
