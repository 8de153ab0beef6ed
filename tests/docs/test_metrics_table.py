"""The metrics that docs/metrics.md lists are those that a broker and a worker show, with their types and labels."""

import re
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from broker.runtime.ports import free_port
from broker.telemetry import EngineMetrics
from tests.failures.test_gauge_everywhere import dead_of
from tests.support.brokers import ADMIN, Broker, LiveBroker, StartBroker, wait_until
from tests.support.engines import StartEngine
from tests.support.jobs import act, make_jobs
from tests.support.states import checkpoint
from tests.support.target import Answer, Target
from tests.support.walk import PUBLISHER, register

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|([\w, ]*)\|", re.MULTILINE)
TYPE = re.compile(r"^# TYPE (\w+) (\w+)$", re.MULTILINE)
BY_PROMETHEUS, OTHERS = {"le", "pid"}, "_created"
JOB = "/channel/channel/consumer/consumer/job"


def documented() -> dict[str, tuple[str, frozenset[str]]]:
    """Type and labels by name."""
    found = ROW.findall(PAGE.read_text())
    assert len({name for name, *_ in found}) == len(found)
    return {name: (kind, frozenset(labels.replace(",", " ").split())) for name, kind, labels in found}


def types(text: str) -> dict[str, str]:
    """What is declared, also of metrics that have no value yet."""
    return {name: kind for name, kind in TYPE.findall(text) if not name.endswith(OTHERS)}


def labels(text: str) -> dict[str, frozenset[str]]:
    """Of those that have a value."""
    found: dict[str, frozenset[str]] = {}
    for family in text_string_to_metric_families(text):
        name = family.name + "_total" * (family.type == "counter")
        sets = {frozenset(one.labels) - BY_PROMETHEUS for one in family.samples}
        if sets:
            (found[name],) = sets
    return found


def test_every_metric_of_a_broker_is_described_and_every_described_one_is_there(broker: Broker) -> None:
    EngineMetrics(broker.metrics.registry)
    register(broker.client)
    jobs = make_jobs(broker.client, 3)
    act(broker.client, "fail", *jobs)
    checkpoint(broker)
    shown = types(broker.client.get("/metrics").text)
    assert shown == {name: kind for name, (kind, _) in documented().items()}


def test_a_live_broker_and_a_worker_show_nothing_else_and_with_these_labels(
    sqlite_url: str, start_broker: StartBroker, start_engine: StartEngine, target: Target
) -> None:
    address = f"127.0.0.1:{free_port()}"
    live = start_broker(sqlite_url)
    start_engine(sqlite_url, BROKER_METRICS_LISTEN=address)
    work_through(live, target)
    wait_until(lambda: "broker_breaker_open{" in scrape(f"http://{address}"), 20)
    wait_until(lambda: 'outcome="delivered"' in scrape(f"http://{address}"), 20)
    told = documented()
    both = [scrape(live.url), scrape(f"http://{address}")]
    for text in both:
        assert types(text).items() <= {name: kind for name, (kind, _) in told.items()}.items()
        assert labels(text).items() <= {name: found for name, (_, found) in told.items()}.items()
    here, there = map(labels, both)
    assert {"dead_job_count", "broker_queue_depth", "broker_dlq_stale"} <= here.keys() & there.keys()
    assert {"broker_messages_published_total", "broker_jobs_requeued_total"} <= here.keys() - there.keys()
    assert {"broker_deliveries_total", "broker_delivery_seconds", "broker_failures_total"} <= there.keys() - here.keys()


def work_through(live: LiveBroker, target: Target) -> None:
    """Jobs die, are requeued and deleted, and deliveries end either way."""
    jobs = dead_of(live, 3)
    target.rule = lambda request: Answer(503 if request.path == "/bad" else 200)
    with httpx.Client(base_url=live.url, headers=ADMIN, timeout=20) as client:
        assert client.post(f"{JOB}/{jobs[0]}/requeue-dead-job").status_code == 202
        assert client.delete(f"{JOB}/{jobs[1]}?force=true").status_code == 204
        for name in ("good", "bad"):
            pushed = {"callbackUrl": target.url(f"/{name}"), "breakerThreshold": 1, "retryBase": "1h"}
            assert client.put(f"/channel/channel/consumer/{name}", json=pushed).status_code == 200
        assert client.post("/channel/channel/broadcast", headers=PUBLISHER, content=b"x").status_code == 201


def scrape(url: str) -> str:
    return httpx.get(f"{url}/metrics", timeout=20).text
