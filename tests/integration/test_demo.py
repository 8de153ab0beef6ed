"""`broker up --demo` as a newcomer meets it: what it shows within a minute, and that all of it goes again."""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from broker.demo.plan import MARK, NETWORK
from tests.support.brokers import ADMIN, LiveBroker, wait_until
from tests.support.cli import Commands
from tests.support.demo import (
    CONSUMERS,
    asked,
    count_of,
    dead_by_gauge,
    dead_by_status,
    history_of_the_gone,
    registered,
    row_counts,
    start_demo,
)

MINUTE = 60.0
NOTHING = "Error: There is no demo here: nothing of its name that `broker up --demo` made.\n"
REMOVED = {"removed": ["channel 'demo'", "producer 'demo'"]}
DEMO = [("producer demo", MARK), ("channel demo", MARK), *((f"consumer {name}", name) for name in CONSUMERS)]


REASONS = {"RETRIES_EXHAUSTED", "NON_RETRYABLE", "EXPIRED"}
EVERY_KIND = REASONS | {"TRANSIENT", "NETWORK", "RESOURCE", "PERMISSION", "VALIDATION", "PERMANENT"}
OFTEN = {"BROKER_DLQ_SUMMARY_INTERVAL": "2s", "BROKER_DLQ_SETTLE": "500ms"}


@contextmanager
def running(live: LiveBroker) -> Iterator[LiveBroker]:
    """Ended with the test, if the test did not end it."""
    try:
        yield live
    finally:
        if live.process.poll() is None:
            live.kill()


def has_something_to_show(live: LiveBroker) -> bool:
    """The dead of two consumers, deliveries, a queue that nobody asks for, and a breaker that opened."""
    dead = [name for name, count in dead_by_status(live).items() if count]
    waits, delivered = count_of(live, "pull", "QUEUED"), count_of(live, "healthy", "DELIVERED")
    return len(dead) >= 2 and waits > 0 and delivered > 0 and breakers_opened(live) > 0


def breakers_opened(live: LiveBroker) -> float:
    found = re.search(r"^broker_breaker_opened_total (\S+)$", httpx.get(f"{live.url}/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def kinds_of_dead(live: LiveBroker) -> set[str]:
    """Reasons and categories."""
    found = asked(live, "/dlq-stats?channel=demo")
    return {*found["status_breakdown"], *found["error_categories"]}


def printed_by_the_greeting(live: LiveBroker) -> list[str]:
    """What its three lines print."""
    lines = [line for line in live.log.read_text().splitlines() if line.startswith("curl ") or " dlq status" in line]
    return [subprocess.check_output(line, shell=True, text=True, timeout=30) for line in lines]


def make_neighbour(live: LiveBroker) -> None:
    """Another's channel: nobody asks for the job of one consumer, the other's is pushed to 127.0.0.1 and dies."""
    for path, fields in (
        ("producer/me", {"token": "mine"}),
        ("channel/orders", {"token": "orders"}),
        ("channel/orders/consumer/billing", {"type": "pull"}),
        ("channel/orders/consumer/local", {"callbackUrl": f"{live.url}/livez"}),
    ):
        httpx.put(f"{live.url}/{path}", headers=ADMIN, json=fields).raise_for_status()
    tokens = {"X-Broker-Channel-Token": "orders", "X-Broker-Producer-ID": "me", "X-Broker-Producer-Token": "mine"}
    httpx.post(f"{live.url}/channel/orders/broadcast", headers=tokens, content=b"1").raise_for_status()
    wait_until(lambda: bool(dead_of_neighbour(live)), 20)


def dead_of_neighbour(live: LiveBroker) -> list[str]:
    """Why its job died."""
    return [one["error"]["text"] for one in asked(live, "/channel/orders/consumer/local/dlq")["deadJobs"]]


def neighbour(live: LiveBroker) -> list[object]:
    """Its channel, its consumers and their jobs."""
    consumers = [f"/channel/orders/consumer/{name}" for name in ("billing", "local")]
    return [asked(live, path) for one in consumers for path in ("/channel/orders", one, f"{one}/jobs")]


def test_a_minute_shows_everything_and_one_command_takes_it_away(sqlite_url: str, tmp_path: Path) -> None:
    plain = LiveBroker(sqlite_url, tmp_path / "plain.log", "up", PYTHONPROFILEIMPORTTIME="1")
    with running(plain):
        make_neighbour(plain)
        others = neighbour(plain)
        assert plain.stop() == 0
    before, names = row_counts(sqlite_url), registered(sqlite_url)
    _was_not_loaded(plain)

    began = time.monotonic()
    live = start_demo(sqlite_url, tmp_path, **OFTEN)
    with running(live):
        wait_until(lambda: has_something_to_show(live), MINUTE - (time.monotonic() - began))
        wait_until(lambda: kinds_of_dead(live) >= EVERY_KIND, MINUTE - (time.monotonic() - began))
        _shows_the_dead(live)
        assert live.stop() == 0
        live.start()
        wait_until(lambda: breakers_opened(live) > 0, MINUTE)
        assert re.search(
            r"^6 consumers, [1-9][0-9]+ counted dead, all exact.$", Commands(sqlite_url).done("dlq", "audit")
        )
        assert registered(sqlite_url) == sorted([*names, *DEMO], key=_by_table)
        _goes_by_one_command(live, sqlite_url)
        left = {**before, "producer": before["producer"] + 1}
        wait_until(lambda: row_counts(sqlite_url) == left, MINUTE, lambda: f"{row_counts(sqlite_url)}, not {left}")
        assert neighbour(live) == others
        assert live.stop() == 0
    assert row_counts(sqlite_url) == left
    assert history_of_the_gone(sqlite_url) == 0
    assert Commands(sqlite_url).done("dlq", "audit") == "2 consumers, 1 counted dead, all exact.\n"
    assert "Traceback" not in live.log.read_text()


def _by_table(entry: tuple[str, str]) -> int:
    return ["producer", "channel", "consumer"].index(entry[0].split()[0])


def _was_not_loaded(plain: LiveBroker) -> None:
    imported = plain.log.read_text()
    assert "broker.delivery.engine" in imported
    assert "broker.demo" not in imported and "broker.cli.demo_mode" not in imported


def _shows_the_dead(live: LiveBroker) -> None:
    gauge = dead_by_gauge(live)
    assert gauge["flaky"] > 0 and gauge["broken"] > 0
    assert (gauge["healthy"], gauge["pull"]) == (0, 0)
    status, metrics, table = printed_by_the_greeting(live)
    assert '"channelId": "demo"' in status
    assert re.search(r'^dead_job_count{channel="demo",consumer="flaky"} [1-9]', metrics, re.MULTILINE)
    assert re.search(r"^demo +broken +[1-9]", table, re.MULTILINE)
    assert asked(live, "/_status")["settings"]["delivery_allowed_networks"] == [NETWORK]
    assert "loopback" in dead_of_neighbour(live)[0]


def _goes_by_one_command(live: LiveBroker, database_url: str) -> None:
    commands = Commands(database_url, live.url)
    refusal = commands.refused("demo", "remove")
    assert "Nothing was removed. Give --yes to remove without being asked." in refusal
    assert commands.json("demo", "remove", "--yes") == REMOVED
    assert commands.refused("demo", "remove", "--yes") == NOTHING
    assert commands.done("channel", "list") == "orders\n"
    assert commands.done("producer", "list") == "me\n"
    wait_until(lambda: "it publishes no more" in live.log.read_text(), 20)


def test_on_a_server_it_starts_when_that_is_said_and_goes_when_the_broker_is_gone(
    server_url: str, tmp_path: Path
) -> None:
    commands = Commands(server_url)
    commands.done("db", "upgrade")
    before = row_counts(server_url)
    with running(start_demo(server_url, tmp_path, "--demo-on-server")) as live:
        wait_until(lambda: sum(count > 0 for count in dead_by_gauge(live).values()) >= 2, MINUTE)
        assert live.stop() == 0
    assert commands.done("demo", "remove", "--yes") == "Removed channel 'demo' and producer 'demo'.\n"
    assert row_counts(server_url) == {**before, "producer": 1}
    assert history_of_the_gone(server_url) == 0
    assert commands.refused("demo", "remove", "--yes") == NOTHING
