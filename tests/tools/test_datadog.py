"""The Datadog Agent's own OpenMetrics check with the configuration that ships; and monitors of what it submits."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.failures.test_gauge_everywhere import dead_of
from tests.support.brokers import ADMIN, LiveBroker, StartBroker, wait_until
from tests.support.engines import LOOPBACK
from tests.support.metrics import samples
from tests.support.target import Answer, Target
from tests.support.tools import path_of
from tests.support.walk import PUBLISHER

SHIPPED = Path(__file__).parents[2] / "deploy" / "datadog"
CONF = SHIPPED / "openmetrics.d" / "conf.yaml"
MONITORS = sorted((SHIPPED / "monitors").glob("*.json"))
COLLECT = Path(__file__).parent / "datadog" / "collect.py"
ADDRESS, TOKEN = "http://127.0.0.1:8080", "test-monitor-token"
GAUGE, MONOTONIC_COUNT = 0, 3
OK, CRITICAL = 0, 2
HEALTH = "broker.openmetrics.health"
PLACE = {"channel:channel", "consumer:consumer"}
pytestmark = pytest.mark.tool("datadog")


class Submitted:
    """What the check gave the Agent in one run."""

    def __init__(self, live: LiveBroker, folder: Path, text: str) -> None:
        conf = folder / "conf.yaml"
        conf.write_text(text.replace(ADDRESS, live.url))
        command = [path_of("datadog"), COLLECT, conf]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        found = json.loads(done.stdout)
        self.metrics: list[dict[str, Any]] = found["metrics"]
        self.health = {one["name"]: one["status"] for one in found["checks"]}
        self.problem = done.stderr

    @property
    def names(self) -> set[str]:
        """Everything that was submitted."""
        return {one["name"] for one in self.metrics}

    def values(self, name: str, kind: int, *tags: str) -> list[float]:
        """Those of a metric of this kind that have these tags."""
        rows = [one for one in self.metrics if (one["name"], one["type"]) == (name, kind)]
        return [one["value"] for one in rows if set(tags) <= set(one["tags"])]


def collect(live: LiveBroker, folder: Path, text: str | None = None) -> Submitted:
    """One run with the file that ships; only the address is replaced."""
    return Submitted(live, folder, text or CONF.read_text())


def with_token() -> str:
    """The file with its lines about the token taken in, as it says."""
    return CONF.read_text().replace("    # extra_headers", "    extra_headers").replace(
        "    #   Authorization: Bearer <MONITOR_TOKEN>", f"      Authorization: Bearer {TOKEN}"
    )  # fmt: skip


@pytest.fixture
def live(server_url: str, start_broker: StartBroker, target: Target) -> LiveBroker:
    """A broker whose every kind of metric has a value: dead jobs, deliveries that failed, a breaker that opened."""
    made = start_broker(
        server_url, "up", BROKER_DELIVERY_ALLOWED_NETWORKS=LOOPBACK, BROKER_DLQ_SUMMARY_INTERVAL="1s",
        BROKER_DLQ_SETTLE="0.1s", BROKER_MONITOR_TOKEN=TOKEN, BROKER_DELIVERY_WORKERS="1",
    )  # fmt: skip
    jobs = dead_of(made, 7)
    requeue = f"{made.url}/channel/channel/consumer/consumer/job/{jobs[0]}/requeue-dead-job"
    assert httpx.post(requeue, headers=ADMIN).status_code == 202
    target.rule = lambda _: Answer(503)
    pushed = {"callbackUrl": target.url("/"), "breakerThreshold": 1, "retryBase": "1h"}
    assert httpx.put(f"{made.url}/channel/channel/consumer/pushed", headers=ADMIN, json=pushed).status_code == 200
    assert httpx.post(f"{made.url}/channel/channel/broadcast", headers=PUBLISHER, content=b"x").status_code == 201
    wait_until(lambda: 'consumer="pushed"} 1.0' in breakers(made), 30)
    wait_until(lambda: "broker_dlq_checkpoint_counted" in scrape(made), 30)
    return made


def scrape(live: LiveBroker) -> str:
    return httpx.get(f"{live.url}/metrics", headers=ADMIN, timeout=20).text


def breakers(live: LiveBroker) -> str:
    return "\n".join(line for line in scrape(live).splitlines() if line.startswith("broker_breaker_open{"))


def test_what_ships_collects_what_the_broker_shows(live: LiveBroker, tmp_path: Path) -> None:
    found = collect(live, tmp_path, with_token())
    assert (found.health, found.problem) == ({HEALTH: OK}, "")
    assert found.values("broker.dlq.dead", GAUGE, *PLACE) == [6]
    assert found.values("broker.dlq.dead", GAUGE, "consumer:pushed") == [0]
    assert found.values("broker.dlq.died.count", MONOTONIC_COUNT, *PLACE) == [7]
    assert found.values("broker.dlq.requeued.count", MONOTONIC_COUNT, *PLACE) == [1]
    assert found.values("broker.dlq.utilization_percent", GAUGE, *PLACE) == [0.06]
    assert found.values("broker.dlq.checkpoint_interval_seconds", GAUGE) == [1]
    assert found.values("broker.dlq.stale", GAUGE) == [0]
    assert found.values("broker.queue.depth", GAUGE, *PLACE) == [2]
    assert found.values("broker.deliveries.count", MONOTONIC_COUNT, "consumer:pushed", "outcome:failed") == [1]
    assert found.values("broker.breaker.open", GAUGE, "consumer:pushed") == [1]
    assert found.values("broker.messages.published.count", MONOTONIC_COUNT, "channel:channel") == [8]
    assert found.values("broker.engine.processes", GAUGE) == [1]
    assert "broker.delivery.seconds" in found.names
    assert_all_are_mapped(scrape(live))
    assert_all_are_monitored_by_what_is_submitted(found)


def test_without_the_token_the_check_says_that_it_cannot_scrape(live: LiveBroker, tmp_path: Path) -> None:
    found = collect(live, tmp_path)
    assert (found.health, found.names) == ({HEALTH: CRITICAL}, set())
    assert "401" in found.problem


def assert_all_are_mapped(text: str) -> None:
    """No metric of the broker is forgotten in the file, and none is there that the broker may not have."""
    (instance,) = yaml.safe_load(CONF.read_text())["instances"]
    mapped = {name for one in instance["metrics"] for name in one}
    shown = {re.sub(r"_(total|bucket|sum|count|created)$", "", name) for name, _ in samples(text)}
    shown |= {"dead_job_count"} if "dead_job" in shown else set()
    assert {name for name in shown if name.startswith("broker_")} <= mapped
    assert "dead_job_count" in mapped & shown


def queries() -> dict[str, str]:
    """By monitor."""
    return {path.stem: json.loads(path.read_text())["query"] for path in MONITORS}


def assert_all_are_monitored_by_what_is_submitted(found: Submitted) -> None:
    """Each monitor asks for metrics and tags that were submitted."""
    for name, query in queries().items():
        asked = re.findall(r"(broker\.[a-z_.]+)\{([^}]*)\}(?: by \{([^}]*)\})?", query)
        assert asked or f'"{HEALTH}"' in query, name
        for metric, scope, groups in asked:
            tags = {tag for one in found.metrics if one["name"] == metric for tag in one["tags"]}
            assert metric in found.names, (name, metric)
            assert {group for group in groups.split(",") if group} <= {tag.partition(":")[0] for tag in tags}, name
            assert scope == "*" or scope.partition(":")[0] in {tag.partition(":")[0] for tag in tags}, name
