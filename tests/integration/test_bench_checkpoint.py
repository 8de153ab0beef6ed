"""`broker bench checkpoint` and `bench all` measure what they say, beside a bare side that does the same work."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from broker.bench import dlq_acts
from broker.bench.checkpoint_bare import count_and_update
from broker.bench.client import BenchFailed
from broker.bench.dlq_place import Ground, prepared
from broker.config import load
from broker.dlq.checkpointer import DEATHS_AT_ONCE, Checkpointer
from broker.operations.dlq_status import read_status


def bench(database_url: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "broker", "--database-url", database_url, "bench", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def counted(ground: Ground) -> dict[int, tuple[int, int]]:
    """By consumer: what the summary has counted, and how many ever died."""
    standings = read_status(ground.parts)
    return {one.place.key: (one.count.checkpointed, one.count.totals.died) for one in standings}


@pytest.fixture
def ground(database_url: str) -> Iterator[Ground]:
    """One scratch database of the bench, on each kind in turn, with dead jobs that are counted."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
    with prepared(load(None, given, {"database_url": database_url})) as made:
        made.fill(1000, lambda: None)
        Checkpointer(made.parts).run(force=True)
        yield made


def test_it_tells_both_sides_and_their_ratios(database_url: str) -> None:
    done = bench(database_url, "checkpoint", "--dead", "2000", "--deaths", "300", "--rounds", "2", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    mine, bare = shown["product"], shown["bare"]
    assert len(mine["checkpointMs"]["rounds"]) == len(bare["bootstrapRowsPerSecond"]["rounds"]) == 2
    new, bootstrap = shown["figures"]
    ratio = bare["checkpointMs"]["median"] / mine["checkpointMs"]["median"]
    assert (new["unit"], new["ratioToBare"]) == ("ms", pytest.approx(ratio, rel=0.05))
    ratio = bootstrap["broker"] / bootstrap["bare"]
    assert (bootstrap["unit"], bootstrap["ratioToBare"]) == ("rows/s", pytest.approx(ratio, abs=0.002))
    assert shown["bootstrapSteps"] == 1


def test_the_table_says_what_the_figures_are(sqlite_url: str) -> None:
    done = bench(sqlite_url, "checkpoint", "--dead", "1000", "--deaths", "100", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    for words in ("100 new of 1000 dead", "bootstrap of all dead", "rows/s", "ratio", "1000 dead in 1 step."):
        assert words in done.stdout


def test_the_bare_side_counts_what_a_checkpoint_counts(ground: Ground) -> None:
    before = counted(ground)
    found: list[dict[int, tuple[int, int]]] = []

    def bare() -> int:
        count = count_and_update(ground)
        found.append(counted(ground))
        ground.require_exact()
        return count

    dlq_acts.counting(ground, 300, bare)
    assert sum(now[0] - then[0] for now, then in zip(found[0].values(), before.values(), strict=True)) == 300
    assert all(dead == died for dead, died in found[0].values())
    assert Checkpointer(ground.parts).run(force=True).counted == 0
    ground.require_exact()
    assert {key: dead for key, (dead, _) in counted(ground).items()} == {key: dead for key, (dead, _) in before.items()}


def test_a_bootstrap_of_many_takes_as_many_steps_as_it_must(sqlite_url: str) -> None:
    done = bench(sqlite_url, "checkpoint", "--dead", str(2 * DEATHS_AT_ONCE), "--rounds", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bootstrapSteps"] >= 2


def test_a_count_that_is_wrong_is_no_figure(ground: Ground) -> None:
    with pytest.raises(BenchFailed, match="7 deaths were counted instead of 100"):
        dlq_acts.counting(ground, 100, lambda: 7)


def test_all_benches_are_in_one_table(sqlite_url: str) -> None:
    done = bench(sqlite_url, "all", "--scale", "0.1", "--rounds", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert list(shown["benches"]) == ["publish", "deliver", "latency", "dlq", "checkpoint"]
    figures = shown["figures"]
    assert [one["bench"] for one in figures] == (
        ["publish"] * 3 + ["deliver"] * 2 + ["latency"] * 2 + ["dlq"] * 3 + ["checkpoint"] * 2
    )
    for one in figures:
        assert one["broker"] > 0
        with_bare = one["bench"] != "latency" and not one["what"].startswith("/dlq-status")
        assert (one["bare"] is not None, one["ratioToBare"] is not None) == (with_bare, with_bare)
    assert shown["benches"]["checkpoint"]["plan"]["dead"] == 2000
