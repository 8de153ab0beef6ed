"""A broker of two instances, one that serves and one that delivers, and a target; watched by a real Prometheus."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from broker.runtime.ports import free_port
from tests.support.brokers import ADMIN, LiveBroker, make_broker
from tests.support.engines import LiveEngine
from tests.support.prometheus import Prometheus
from tests.support.target import Answer, Received, Target
from tests.support.walk import PRODUCER_TOKEN, PUBLISHER

TOKENS = {"X-Broker-Channel-Token": PUBLISHER["X-Broker-Channel-Token"], "X-Broker-Consumer-Token": "consumer-token"}
MONITOR_TOKEN = "test-monitor-token"
SETTINGS = {
    "BROKER_DLQ_SETTLE": "1s",
    "BROKER_DLQ_SUMMARY_INTERVAL": "5s",
    "BROKER_MONITOR_TOKEN": MONITOR_TOKEN,
}


class Watched:
    """The broker as its producers, its consumers and its operators see it."""

    def __init__(self, api: LiveBroker, worker: LiveEngine, target: Target, prometheus: Prometheus) -> None:
        self.worker, self.target, self.prometheus = worker, target, prometheus
        self.addresses = [api.url.removeprefix("http://"), worker.environment["BROKER_METRICS_LISTEN"]]
        self._client, self._failing = httpx.Client(base_url=api.url, headers=ADMIN, timeout=20), set[str]()
        target.rule = self._answer
        self._put("/producer/producer", token=PRODUCER_TOKEN)

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()

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

    def metrics(self) -> list[str]:
        """What each instance shows to Prometheus."""
        bearer = {"Authorization": f"Bearer {MONITOR_TOKEN}"}
        return [httpx.get(f"http://{one}/metrics", headers=bearer, timeout=20).text for one in self.addresses]

    def _put(self, path: str, **fields: Any) -> None:
        answer = self._client.put(path, json=fields)
        assert answer.status_code == 200, answer.text

    def _answer(self, received: Received) -> Answer:
        return Answer(500, body=b"no") if received.path in self._failing else Answer(200)


@contextmanager
def watched(folder: Path, database_url: str) -> Iterator[Watched]:
    """All of it, until the end of the block."""
    make_broker(database_url).parts.database.dispose()
    with ExitStack() as stack:
        address = f"127.0.0.1:{free_port()}"
        api = LiveBroker(database_url, folder / "serve.log", "serve", (), **SETTINGS)
        stack.callback(api.kill)
        worker = LiveEngine(database_url, folder / "work.log", 1, BROKER_METRICS_LISTEN=address, **SETTINGS)
        stack.callback(worker.kill)
        prometheus = Prometheus(folder, [api.url.removeprefix("http://"), address], MONITOR_TOKEN)
        stack.callback(prometheus.stop)
        yield stack.enter_context(closing(Watched(api, worker, stack.enter_context(Target()), prometheus)))


def _place(channel: str, consumer: str) -> str:
    return f"/channel/{channel}/consumer/{consumer}"
