"""The gauge of several processes and instances, and what it shows while the database is away."""

import httpx
import pytest

from tests.support.brokers import ADMIN, LiveBroker, StartBroker, wait_until
from tests.support.killable import KillableServer
from tests.support.metrics import dead_jobs, sample
from tests.support.walk import PRODUCER_TOKEN, PUBLISHER

SCRAPES = 12
PLACE = ("channel", "consumer")
pytestmark = pytest.mark.alone


def test_every_process_of_every_instance_shows_the_same_gauge_after_a_change_served_by_another(
    durable_url: str, start_broker: StartBroker
) -> None:
    instances = [start_broker(durable_url, BROKER_HTTP_WORKERS="2") for _ in range(2)]
    jobs = dead_of(instances[0], 5)
    assert seen_by(instances) == {5.0}
    requeue = f"{instances[1].url}/channel/channel/consumer/consumer/job/{jobs[0]}/requeue-dead-job"
    assert httpx.post(requeue, headers=ADMIN).status_code == 202
    assert seen_by(instances) == {4.0}
    delete = f"{instances[0].url}/channel/channel/consumer/consumer/dlq?force=true"
    assert httpx.delete(delete, headers=ADMIN).json()["deletedCount"] == 4
    assert seen_by(instances) == {0.0}


def test_while_the_database_is_away_the_gauge_keeps_its_value_and_is_marked_stale(
    durable_server: KillableServer, durable_url: str, start_broker: StartBroker
) -> None:
    live = start_broker(durable_url, BROKER_HTTP_WORKERS="2")
    dead_of(live, 3)
    assert seen_by([live]) == {3.0}
    durable_server.kill()
    texts = [scrape(live) for _ in range(SCRAPES)]
    assert {dead_jobs(text).get(PLACE) for text in texts} == {3.0}
    assert {sample(text, "broker_dlq_stale") for text in texts} == {1.0}
    assert httpx.get(f"{live.url}/dlq-status", timeout=20).status_code == 503
    durable_server.start()
    wait_until(lambda: sample(scrape(live), "broker_dlq_stale") == 0, 20)
    assert httpx.get(f"{live.url}/dlq-status", timeout=20).json()["consumers"][0]["deadCount"] == 3


def test_a_broker_that_never_knew_says_nothing_rather_than_0(
    durable_server: KillableServer, durable_url: str, start_broker: StartBroker
) -> None:
    live = start_broker(durable_url)
    durable_server.kill()
    text = scrape(live)
    assert dead_jobs(text) == {}
    assert sample(text, "broker_dlq_stale") == 1


def dead_of(live: LiveBroker, count: int) -> list[str]:
    """A consumer with so many dead jobs; gives their ids."""
    with httpx.Client(base_url=live.url, headers=ADMIN, timeout=20) as client:
        assert client.put("/producer/producer", json={"token": PRODUCER_TOKEN}).status_code == 200
        assert client.put("/channel/channel", json={"token": PUBLISHER["X-Broker-Channel-Token"]}).status_code == 200
        assert client.put("/channel/channel/consumer/consumer", json={"type": "pull"}).status_code == 200
        batch = {"messages": [{"payload": "x"}] * count}
        assert client.post("/channel/channel/broadcast-batch", json=batch, headers=PUBLISHER).status_code == 200
        found = client.get("/channel/channel/consumer/consumer/jobs").json()["result"]
        jobs = [one["id"] for one in found]
        assert client.post("/admin/jobs/fail", json={"jobs": jobs}).json()["done"] == count
    return jobs


def seen_by(instances: list[LiveBroker]) -> set[float | None]:
    """What many scrapes of all instances show, each over a connection of its own."""
    return {dead_jobs(scrape(live)).get(PLACE) for live in instances for _ in range(SCRAPES)}


def scrape(live: LiveBroker) -> str:
    return httpx.get(f"{live.url}/metrics", timeout=20).text
