"""`broker bench dlq` measures what it says, and tells nothing when the summary is not exact."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker.bench import dlq_acts, dlq_bare
from broker.bench.dlq_lots import AT_ONCE, BURST
from broker.bench.dlq_place import Ground, prepared
from broker.config import load
from broker.dlq.checkpointer import Checkpointer
from broker.domain.dead_selection import DeadAct
from broker.operations.dlq_status import read_status

SMALL = ("--dead", "2000", "--rounds", "1", "--requests", "10", "--deaths", "300", "--rows", "500")


def bench(database_url: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "broker", "--database-url", database_url, "bench", "dlq", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def count(ground: Ground, what: str) -> int:
    found = int(ground.lots.run(f"SELECT COUNT(*) FROM {what}").fetchone()[0])
    ground.lots.connection.commit()
    return found


@pytest.fixture
def ground(database_url: str) -> Iterator[Ground]:
    """One scratch database of the bench, on each kind in turn."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
    with prepared(load(None, given, {"database_url": database_url})) as made:
        yield made


def test_it_tells_both_sides_their_ratios_and_which_bars_are_met(database_url: str) -> None:
    done = bench(database_url, *SMALL, "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    for side in (shown["without"], shown["withDead"]):
        assert 0 < side["statusP50Ms"]["median"] <= side["statusP99Ms"]["median"]
        assert side["checkpointMs"]["median"] > 0 and len(side["groupByMs"]["rounds"]) == 1
        for act in ("purge", "requeue"):
            ratio = side[act]["rowsPerSecond"] / side[act]["barePerSecond"]
            assert side[act]["ratioToBare"] == pytest.approx(ratio, rel=0.05)
    assert shown["duringPurge"]["polls"] > 0 and shown["duringPurge"]["rowsPerSecond"] > 0
    bars = {one["what"]: (one["measured"], one["met"]) for one in shown["bars"]}
    assert len(bars) == 5
    measured, met = bars["checkpoint, with dead by without"]
    assert measured == shown["ratio"]["checkpointMs"] and met == (measured <= 1.5)


def test_the_table_says_what_the_figures_are(sqlite_url: str) -> None:
    done = bench(sqlite_url, *SMALL)
    assert done.returncode == 0, done.stderr
    for words in ("/dlq-status p99, ms", "checkpoint of 300 deaths", "requeue, by bare", "Dead: 2000", "Bar: purge"):
        assert words in done.stdout


def test_the_dead_that_it_puts_in_are_where_the_summary_finds_them(ground: Ground) -> None:
    told: list[int] = []
    ground.fill(AT_ONCE + 1000, lambda: told.append(1))
    assert len(told) == 2 and count(ground, "job") == 11_000 and count(ground, "job_event") == 5500
    ground.require_exact()
    assert Checkpointer(ground.parts).run(force=True).counted == 11_000
    assert dlq_acts.checkpoint(ground, 300) > 0
    ground.require_exact()
    dead = {one.place.key: one.count.dead for one in read_status(ground.parts)}
    assert dead == {key: 8800 if key == ground.keys[0] else 550 for key in ground.keys}


@pytest.mark.parametrize("kind", [DeadAct.DELETE, DeadAct.REQUEUE])
def test_both_sides_act_on_as_many_and_leave_the_tables_as_they_were(ground: Ground, kind: DeadAct) -> None:
    ground.fill(1000, lambda: None)
    Checkpointer(ground.parts).run(force=True)
    rates = dlq_acts.act(ground, kind, 300, bare_first=True)
    assert rates.product > 0 and rates.bare > 0
    ground.require_exact()
    assert (count(ground, "job"), count(ground, "job_event")) == (1000, 500)


def test_the_bare_side_takes_all_of_a_lot_and_nothing_else(ground: Ground) -> None:
    ground.fill(1000, lambda: None)
    lot = ground.lots.put(10 * BURST + 7, ground.lots.now() - timedelta(days=60), 1000, ground.keys[:1])
    dlq_bare.requeue(ground.lots, lot, 3 * BURST)
    assert count(ground, "job WHERE status = 1001 AND deadAt IS NULL") == 507
    assert count(ground, "job_event WHERE event = 'requeued'") == 507
    ground.lots.remove(lot)
    other = ground.lots.put(10 * BURST + 7, ground.lots.now() - timedelta(days=60), 1000, ground.keys[:1])
    dlq_bare.purge(ground.lots, other, 3 * BURST)
    assert (count(ground, "job"), count(ground, "job_event")) == (1000, 500)


@pytest.mark.parametrize(
    ("options", "says"),
    [(("--dead", "10"), "--dead"), (("--rounds", "none"), "--rounds"), (("--deaths", "60000"), "--deaths")],
)
def test_a_bad_option_is_one_clear_line(sqlite_url: str, options: tuple[str, ...], says: str) -> None:
    done = bench(sqlite_url, *options)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr
