"""What the dead-letter bench measures on one database; each leaves it as it was."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from broker.bench import dlq_bare
from broker.bench.client import BenchFailed
from broker.bench.dlq_lots import Lot
from broker.bench.dlq_place import SETTLE_SECONDS, Ground
from broker.dlq.checkpointer import Checkpointer
from broker.domain.dead_selection import DeadAct, DeadFilter, OperationState
from broker.operations import bulk

CALM_SECONDS = 0.5
FOR_EVER = 3600.0
_BARE = {DeadAct.DELETE: dlq_bare.purge, DeadAct.REQUEUE: dlq_bare.requeue}


class Rates(NamedTuple):
    """Rows a second, by the broker and bare."""

    product: float
    bare: float


def checkpoint(ground: Ground, deaths: int) -> float:
    """Seconds of a checkpoint that finds so many new deaths."""
    return counting(ground, deaths, lambda: Checkpointer(ground.parts).run(force=True).counted)


def counting(ground: Ground, deaths: int, count: Callable[[], int]) -> float:
    """Seconds of counting so many new deaths, which are gone again afterwards."""
    lot = ground.die(deaths)
    time.sleep(CALM_SECONDS + SETTLE_SECONDS)
    begun = time.perf_counter()
    counted = count()
    seconds = time.perf_counter() - begun
    if counted != deaths:
        raise BenchFailed(f"{counted} deaths were counted instead of {deaths}")
    _forget(ground, lot)
    return seconds


def act(ground: Ground, kind: DeadAct, rows: int, bare_first: bool) -> Rates:
    """One side after the other, on as many rows."""
    bare = _bare(ground, kind, rows) if bare_first else 0.0
    product = _product(ground, kind, rows)
    return Rates(product, bare or _bare(ground, kind, rows))


def group_by(ground: Ground) -> float:
    """Seconds of counting all dead."""
    begun = time.perf_counter()
    ground.truth()
    return time.perf_counter() - begun


def purge_for(ground: Ground, seconds: float) -> float:
    """Delete the crowded consumer's dead for so long; gives rows a second."""
    operation = bulk.start(ground.parts, ground.crowded, DeadAct.DELETE, DeadFilter(), "bench")
    begun = time.perf_counter()
    ended = bulk.run(ground.parts, operation.id, seconds)
    rate = ended.done / (time.perf_counter() - begun)
    bulk.cancel(ground.parts, operation.id)
    return rate


def _product(ground: Ground, kind: DeadAct, rows: int) -> float:
    with _old(ground, rows) as lot:
        wanted = DeadFilter(died_before=lot.died_at(rows))
        begun = time.perf_counter()
        operation = bulk.start(ground.parts, ground.crowded, kind, wanted, "bench")
        ended = bulk.run(ground.parts, operation.id, FOR_EVER)
        rate = rows / (time.perf_counter() - begun)
        if (ended.state, ended.done) != (OperationState.DONE, rows):
            raise BenchFailed(f"{kind.value} ended as {ended.state.value} with {ended.done} of {rows} done")
    return rate


def _bare(ground: Ground, kind: DeadAct, rows: int) -> float:
    with _old(ground, rows) as lot:
        begun = time.perf_counter()
        _BARE[kind](ground.lots, lot, ground.settings.dlq_chunk)
        rate = rows / (time.perf_counter() - begun)
        ground.account(ground.keys[0], 0, rows)
    return rate


@contextmanager
def _old(ground: Ground, rows: int) -> Iterator[Lot]:
    lot = ground.put_old(rows)
    time.sleep(CALM_SECONDS)
    yield lot
    ground.lots.remove(lot)


def _forget(ground: Ground, lot: Lot) -> None:
    """New deaths go again, and the summary is told."""
    first, last = lot.ids
    query = f"SELECT consumerId, COUNT(*) FROM job WHERE id BETWEEN '{first}' AND '{last}' GROUP BY consumerId"
    counted = ground.lots.run(query).fetchall()
    ground.lots.remove(lot)
    for key, count in counted:
        ground.account(key, 0, count)
