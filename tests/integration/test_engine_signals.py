"""Signals that come twice, `broker up` with its engine, and a schema that will not do: told without a traceback."""

import os
import signal
import subprocess

import pytest

from broker.domain.clock import Clock
from broker.store import schema
from broker.store.engine import Database
from tests.integration.stopping import (
    DELIVERED,
    SLOW,
    alive,
    all_delivered,
    children,
    leases,
    prepare,
    statuses,
)
from tests.integration.test_schema_commands import run
from tests.support.brokers import StartBroker, wait_until
from tests.support.engines import LOOPBACK, StartEngine
from tests.support.target import Answer, Target


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_is_no_reason_to_trace_back(
    sqlite_url: str, start_engine: StartEngine, target: Target, number: signal.Signals
) -> None:
    """Ctrl-C reaches every process of the terminal, and impatient people press it again."""
    broker = prepare(sqlite_url, target, 4)
    target.rule = lambda _: Answer(delay=SLOW)
    engine = start_engine(sqlite_url)
    target.wait_for(4)
    for _ in range(3):
        os.killpg(engine.process.pid, number)
        with pytest.raises(subprocess.TimeoutExpired):
            engine.process.wait(0.1)
    assert engine.process.wait(20) == 0
    assert "Traceback" not in engine.log.read_text()
    assert all_delivered(broker, 4)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_broker_up_stops_its_engine_in_good_order(
    sqlite_url: str, start_broker: StartBroker, target: Target, number: signal.Signals
) -> None:
    broker = prepare(sqlite_url, target, 4)
    target.rule = lambda _: Answer(delay=SLOW)
    live = start_broker(sqlite_url, "up", BROKER_DELIVERY_ALLOWED_NETWORKS=LOOPBACK)
    target.wait_for(4)
    for _ in range(2):
        os.killpg(live.process.pid, number)
    assert live.process.wait(30) == 0
    assert "Traceback" not in live.log.read_text()
    assert (all_delivered(broker, 4), leases(broker)) == (True, [])


def test_the_engine_of_a_killed_broker_up_ends_itself(
    sqlite_url: str, start_broker: StartBroker, target: Target
) -> None:
    broker = prepare(sqlite_url, target, 4)
    target.rule = lambda _: Answer(delay=SLOW)
    live = start_broker(sqlite_url, "up", BROKER_DELIVERY_ALLOWED_NETWORKS=LOOPBACK)
    target.wait_for(4)
    tree = [pid for child in children(live.process.pid) for pid in (child, *children(child))]
    live.process.kill()
    wait_until(lambda: not any(alive(one) for one in tree), 20)
    assert len(tree) >= 3
    assert (statuses(broker), leases(broker)) == ({DELIVERED: 4}, [])


@pytest.mark.parametrize(
    ("version", "told"),
    [(None, "has no schema yet. Run: broker db upgrade"), ("0001", "has schema 0001, this program needs")],
)
def test_a_schema_that_is_absent_or_old_is_refused(database_url: str, version: str | None, told: str) -> None:
    database = Database(database_url, Clock())
    if version is not None:
        schema.upgrade(database, version)
    refused = run(database_url, "work", "--workers", "1")
    database.dispose()
    assert (refused.returncode, told in refused.stderr, refused.stdout) == (1, True, "")
    assert "Traceback" not in refused.stderr
