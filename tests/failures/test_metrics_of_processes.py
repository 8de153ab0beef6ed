"""What the processes of one broker counted is summed; what one said of its present state ends with it."""

import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.integration.stopping import alive, children
from tests.support.brokers import ADMIN, LiveBroker, StartBroker, wait_until
from tests.support.engines import LOOPBACK
from tests.support.metrics import sample
from tests.support.target import Answer, Target
from tests.support.walk import PRODUCER_TOKEN, PUBLISHER

HERE = {"channel": "channel", "consumer": "consumer"}
pytestmark = pytest.mark.alone


def test_a_killed_engine_keeps_its_counts_and_leaves_no_open_breaker(
    server_url: str, start_broker: StartBroker, target: Target
) -> None:
    live = start_broker(
        server_url, "up", BROKER_DELIVERY_ALLOWED_NETWORKS=LOOPBACK, BROKER_HTTP_WORKERS="2",
        BROKER_DELIVERY_WORKERS="2",
    )  # fmt: skip
    target.rule = lambda _: Answer(500)
    prepare(live, target)
    wait_until(lambda: told(live, "broker_breaker_open", **HERE) == 0, 20)
    assert told(live, "broker_engine_processes") == 2
    publish(live, 8)
    wait_until(lambda: told(live, "broker_breaker_open", **HERE) == 1, 20)
    failed = told(live, "broker_deliveries_total", **HERE, outcome="failed")
    assert failed is not None
    assert failed >= 1
    kill_engine(live)
    wait_until(lambda: told(live, "broker_engine_processes") == 2, 60)
    assert told(live, "broker_breaker_open", **HERE) == 0
    assert (told(live, "broker_deliveries_total", **HERE, outcome="failed") or 0) >= failed
    assert {told(live, "broker_messages_published_total", channel="channel") for _ in range(8)} == {8}


def prepare(live: LiveBroker, target: Target) -> None:
    """A consumer whose breaker opens at the first failure, for long."""
    consumer = {"callbackUrl": target.url("/"), "breakerThreshold": 1, "breakerOpen": "1h", "retryBase": "1h"}
    with httpx.Client(base_url=live.url, headers=ADMIN, timeout=20) as client:
        assert client.put("/producer/producer", json={"token": PRODUCER_TOKEN}).status_code == 200
        assert client.put("/channel/channel", json={"token": PUBLISHER["X-Broker-Channel-Token"]}).status_code == 200
        assert client.put("/channel/channel/consumer/consumer", json=consumer).status_code == 200


def publish(live: LiveBroker, count: int) -> None:
    """Single posts, which several serving processes take."""
    for _ in range(count):
        assert httpx.post(f"{live.url}/channel/channel/broadcast", content=b"x", headers=PUBLISHER).status_code == 201


def kill_engine(live: LiveBroker) -> None:
    """The whole companion at once; it is started again, and what waits is paused, so that no new breaker opens."""
    consumer = f"{live.url}/channel/channel/consumer/consumer"
    assert httpx.put(consumer, headers=ADMIN, json={"paused": True}).status_code == 200
    (companion,) = [pid for pid in children(live.process.pid) if "work" in command_of(pid)]
    tree = [companion, *children(companion)]
    for pid in tree:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in tree), 20)


def command_of(pid: int) -> list[str]:
    """The words a process was started with."""
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def told(live: LiveBroker, name: str, **labels: str) -> float | None:
    """A sample of /metrics now."""
    return sample(httpx.get(f"{live.url}/metrics", timeout=20).text, name, **labels)
