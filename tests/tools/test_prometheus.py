"""What ships in deploy/prometheus on a real Prometheus that watches a real broker of two instances."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from broker.runtime.ports import free_port
from tests.support.brokers import wait_until
from tests.support.panels import choices, queries
from tests.support.prometheus import SHIPPED, configure
from tests.support.tools import path_of
from tests.support.watched import MONITOR_TOKEN, Watched, watched

PAGE = Path(__file__).parents[2] / "docs/monitoring-prometheus.md"
PAGE_ADDRESS = "127.0.0.1:9090"
WAIT_SECONDS = 60
ALWAYS_0 = {
    "Drift: drift",
    "Drift by consumer: {{channel}}/{{consumer}}",
    "Whether the dead are known: {{instance}}",
    "Age of what an instance tells: {{instance}}",
}  # fmt: skip
pytestmark = [pytest.mark.tool("prometheus", "promtool"), pytest.mark.xdist_group("prometheus")]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """One for all tests here; each has a channel of its own."""
    folder = tmp_path_factory.mktemp("prometheus")
    with watched(folder, f"sqlite:///{folder / 'broker.sqlite3'}") as running:
        yield running


def test_jobs_die_and_the_alert_fires_they_are_requeued_and_it_resolves(broker: Watched) -> None:
    broker.channel("orders")
    broker.consumer("orders", "billing")
    broker.fails("orders", "billing")
    broker.publish("orders", 60)
    seen_in_prometheus(broker, "orders", "billing", 60)
    assert broker.prometheus.query('sum(dead_job_count{channel="orders"}) > 100'), "both instances tell of the 60"
    before = broker.prometheus.evaluated_at("DLQDepthHigh")
    wait_until(lambda: broker.prometheus.evaluated_at("DLQDepthHigh") != before, WAIT_SECONDS)
    assert broker.prometheus.alerts("DLQDepthHigh") == []

    broker.publish("orders", 60)
    wait_until(lambda: bool(broker.prometheus.firing("DLQDepthHigh")), WAIT_SECONDS)
    (alert,) = broker.prometheus.firing("DLQDepthHigh")
    place = {"broker": "broker", "channel": "orders", "consumer": "billing"}
    assert alert["labels"] == {"alertname": "DLQDepthHigh", "severity": "warning", **place}
    assert alert["annotations"]["summary"] == "orders/billing has 120 dead jobs"

    broker.fails("orders", "billing", False)
    assert broker.act("POST", "orders", "billing")["requeuedCount"] == 120
    wait_until(lambda: broker.prometheus.alerts("DLQDepthHigh") == [], WAIT_SECONDS)
    assert broker.dead("orders", "billing") == 0


def test_an_instance_that_is_gone_is_told_until_it_is_back(broker: Watched) -> None:
    wait_until(lambda: broker.prometheus.alerts("BrokerGone") == [], WAIT_SECONDS)
    assert broker.worker.stop() == 0
    wait_until(lambda: bool(broker.prometheus.firing("BrokerGone")), WAIT_SECONDS)
    (alert,) = broker.prometheus.firing("BrokerGone")
    assert alert["annotations"]["summary"] == f"The broker at {broker.addresses[1]} does not answer"
    broker.worker.start()
    wait_until(lambda: broker.prometheus.alerts("BrokerGone") == [], WAIT_SECONDS)


def test_every_panel_of_the_dashboard_shows_what_happened(broker: Watched) -> None:
    since = time.time()
    make_history(broker)
    chosen = {"broker": "broker", "channel": "coins", "consumer": ".*", "__rate_interval": "5s"}
    for _, selector, label in choices(chosen):
        assert broker.prometheus.label_values(label, selector), selector
    found: dict[str, float | None] = {}

    def all_show() -> bool:
        found.update({title: broker.prometheus.greatest(expr, since) for title, expr in queries(chosen)})
        return not silent(found)

    wait_until(all_show, WAIT_SECONDS, lambda: f"no data, or only 0: {silent(found)}")
    assert {title: found[title] for title in ALWAYS_0} == dict.fromkeys(ALWAYS_0, 0.0)


def silent(found: dict[str, float | None]) -> list[str]:
    return [title for title, value in found.items() if value is None or (value == 0) != (title in ALWAYS_0)]


def make_history(broker: Watched) -> None:
    """Two waves of deliveries, for a rate needs a value before; deaths, and everything that is done with the dead."""
    broker.channel("coins")
    for name in ("bank", "shop"):
        broker.consumer("coins", name)
    broker.consumer("coins", "broken", breakerThreshold=1)
    broker.consumer("coins", "desk", type="pull")
    broker.consumer("coins", "resting", type="pull", paused=True)
    broker.channel("lost-coins")
    broker.consumer("coins", "bank", deadChannel="lost-coins")
    for failing in ("bank", "broken"):
        broker.fails("coins", failing)
    seen_in_prometheus(broker, "coins", "bank", 0)
    for what, done in (("POST", "/dlq"), ("DELETE", "/dlq"), ("POST", "/dlq/archive"), ("POST", "/dlq/move")):
        broker.publish("coins", 10)
        seen_in_prometheus(broker, "coins", "bank", 10)
        broker.fails("coins", "bank", False)
        assert 10 in broker.act(what, "coins", "bank", done).values()
        seen_in_prometheus(broker, "coins", "bank", 0)
        broker.fails("coins", "bank")
    assert broker.act("POST", "coins", "desk", "/lease")["jobs"]


def seen_in_prometheus(broker: Watched, channel: str, consumer: str, dead: int) -> None:
    """Both instances tell that so many are dead."""
    look = f'count(dead_job_count{{channel="{channel}", consumer="{consumer}"}} == {dead})'
    wait_until(lambda: broker.prometheus.value(look) == 2, WAIT_SECONDS, lambda: str(broker.dead(channel, consumer)))


@pytest.mark.parametrize("instance", [0, 1], ids=["api", "worker"])
def test_promtool_finds_fault_with_one_name_only(broker: Watched, instance: int) -> None:
    """And that one was asked for: who comes from webhook-broker has it in dashboards and monitors."""
    shown = broker.metrics()[instance]
    assert "broker_dlq_stale 0.0" in shown
    command = [str(path_of("promtool")), "check", "metrics"]
    done = subprocess.run(command, input=shown, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
    fault = 'dead_job_count non-histogram and non-summary metrics should not have "_count" suffix'
    assert (done.returncode, done.stderr.splitlines()) == (3, [fault])


def test_the_lines_of_the_page_check_start_and_ask(broker: Watched, tmp_path: Path) -> None:
    shipped = tmp_path / "deploy" / "prometheus"
    copytree(SHIPPED, shipped)
    configure(shipped, broker.addresses, MONITOR_TOKEN)
    broker.channel("pages")
    broker.consumer("pages", "reader")
    lines = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    assert lines.count(PAGE_ADDRESS) == 4
    printed = execute(lines.replace(PAGE_ADDRESS, f"127.0.0.1:{free_port()}"), tmp_path)
    assert printed.count("  SUCCESS\n") == 2 * len(list((SHIPPED / "tests").glob("*.yml")))
    assert re.search(r'^dead_job_count\{.*channel="pages".*\} => 0 @', printed, re.MULTILINE)
    assert '{"status":"success","data":{"alerts":[' in printed
    assert "runbook_url: https://git.example/broker/docs/runbook.md#brokergone" in read_rules(shipped)


def read_rules(folder: Path) -> str:
    return "".join(file.read_text() for file in (folder / "rules").glob("*.yml"))


def execute(lines: str, folder: Path) -> str:
    """What they print; each must succeed, and what they started in the background is ended."""
    done = subprocess.run(
        ["bash", "-e", "-c", f"trap 'kill $(jobs -p); wait' EXIT\n{lines}"],
        cwd=folder, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
