"""A database with many dead, most of one consumer; all but the last few are counted by a checkpoint."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, insert, text

from broker.bench.dlq_lots import Lots
from broker.bench.scratch import Scratch
from broker.dlq.checkpointer import take_step
from broker.domain.dead_selection import DeadAct, DeadFilter
from broker.domain.preconditions import Preconditions
from broker.operations import bulk
from broker.operations.channels import put_channel
from broker.operations.consumers import put_consumer
from broker.operations.dead_chunks import run_chunk
from broker.operations.dlq_status import _read
from broker.operations.locking import NamedLock
from broker.operations.parts import Parts
from broker.store import checkpoints, consumers, dead_ranges, dead_tails, dlq_status, summary
from broker.store.dead_ranges import Spot
from broker.store.tables import dlq_history, dlq_summary
from tests.support.brokers import make_broker

CONSUMERS, CHUNK, TAIL, LINES = 5, 100, 40, 300
NOW = datetime.now(UTC)
CHECKED_AT = NOW - timedelta(minutes=5)
NOTHING = DeadFilter()
HOT = {"job", "job_event", "job_origin", "dlq_history"}


@dataclass(frozen=True)
class Dead:
    """The database, its consumers by key (the first is the crowded one), and one operation for each act."""

    parts: Parts
    keys: tuple[int, ...]
    lock: NamedLock
    operations: dict[DeadAct, str]
    size: int

    @property
    def checked_at(self) -> dict[int, datetime]:
        """Where every consumer's summary stands."""
        return dict.fromkeys(self.keys, CHECKED_AT)

    @property
    def tail(self) -> dead_tails.Tail:
        """The crowded consumer's deaths that no checkpoint has counted."""
        return dead_tails.Tail(self.keys[:1], CHECKED_AT)

    def chunk(self, act: DeadAct) -> Callable[[Connection], object]:
        """The first chunk of an act on the crowded consumer's dead."""
        return lambda c: run_chunk(self.parts, c, self.lock, self.operations[act])


@contextmanager
def dead(url: str, size: int, stale: bool = False) -> Iterator[Dead]:
    """So many counted dead and a few that are not. `stale`: the server believes that the tables are empty."""
    parts = make_broker(url, dlq_chunk=CHUNK).parts
    keys, lots = _register(parts), Lots(Scratch(url, None))
    if stale:
        parts.database.write("freeze", _freeze_statistics)
    lots.put(size, CHECKED_AT - timedelta(days=1), 1000, keys)
    lots.put(TAIL, NOW - timedelta(minutes=1), 0, keys[:1])
    lots.close()
    parts.database.write("history", lambda c: _fill_summary(c, keys))
    if not stale and not parts.database.is_sqlite:
        parts.database.write("analyze", lambda c: c.execute(text(f"ANALYZE TABLE {', '.join(HOT)}, dlq_summary")).all())
    yield _with_operations(parts, keys, size)
    parts.database.dispose()


def _register(parts: Parts) -> tuple[int, ...]:
    put_channel(parts, "channel", {"token": "channel"}, Preconditions())
    for number in range(CONSUMERS):
        put_consumer(parts, "channel", f"consumer-{number}", {"type": "pull"}, Preconditions())
    crowded = parts.database.read("consumer", lambda c: consumers.find(c, "channel", "consumer-0"))
    assert crowded is not None
    return tuple(sorted(parts.database.read("keys", lambda c: consumers.keys_of(c, crowded.channel_key))))


def _freeze_statistics(connection: Connection) -> None:
    for table in sorted(HOT):
        connection.execute(text(f"ALTER TABLE {table} STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0"))
        connection.execute(text(f"ANALYZE TABLE {table}")).all()


def _fill_summary(connection: Connection, keys: tuple[int, ...]) -> None:
    connection.execute(dlq_summary.update().values(last_checked_at=CHECKED_AT, dead_count=1_000_000))
    counts = dict.fromkeys(("opening", "died", "requeued", "deleted", "archived", "moved", "closing"), 0)
    lines = [
        {"consumerId": key, "checkpointAt": CHECKED_AT - timedelta(minutes=10 * number), **counts}
        for key in keys
        for number in range(1, LINES + 1)
    ]
    connection.execute(insert(dlq_history), lines)


def _with_operations(parts: Parts, keys: tuple[int, ...], size: int) -> Dead:
    lock = NamedLock(parts, "test", 3600.0)
    assert lock.acquire()
    crowded = parts.database.read("consumer", lambda c: consumers.find(c, "channel", "consumer-0"))
    assert crowded is not None and crowded.key == keys[0]
    acts = (DeadAct.DELETE, DeadAct.REQUEUE, DeadAct.ARCHIVE)
    return Dead(parts, keys, lock, {act: bulk.start(parts, crowded, act, NOTHING, "me").id for act in acts}, size)


@dataclass(frozen=True)
class Case:
    """Work of the store; how many rows a statement may read, however many are dead; and whether it may sort them."""

    work: Callable[[Dead, Connection], object]
    reads: int
    sorts: bool = False


def _counted(found: object, expected: object) -> None:
    assert found == expected


_old = Spot(summary.BEGINNING, "")
CASES = {
    "status": Case(lambda d, c: _counted(len(dlq_status.count(c, d.checked_at)), CONSUMERS), 2 * TAIL + 5 * CONSUMERS),
    "whole answer": Case(lambda d, c: _read(d.parts, c, None, None), 2 * TAIL + 40 * CONSUMERS),
    "oldest deaths": Case(lambda d, c: dlq_status.oldest_deaths(c, dict.fromkeys(d.keys)), 4 * CONSUMERS),
    "died in the last hour": Case(lambda d, c: dlq_status.died_in_last_hour(c, d.keys), 20 * CONSUMERS),
    "count for a checkpoint": Case(
        lambda d, c: _counted(dead_tails.count_deaths(c, d.tail), {d.keys[0]: TAIL}), 2 * TAIL + 5
    ),
    "length of a tail": Case(lambda d, c: _counted(dead_tails.length(c, [d.tail], 10_000), TAIL), 4 * TAIL + 5),
    "length to its bound": Case(lambda d, c: _counted(dead_tails.length(c, [d.tail], 10), 10), 45),
    "n-th death": Case(lambda d, c: dead_tails.nth_death(c, d.tail, TAIL), 2 * TAIL + 5),
    "a checkpoint's step": Case(lambda d, c: take_step(c, d.lock, NOW), 4 * TAIL + 10 * CONSUMERS),
    "prune history": Case(
        lambda d, c: checkpoints.prune_history(c, d.keys, NOW - timedelta(days=2)), 2 * LINES * CONSUMERS
    ),
    "take back": Case(lambda d, c: summary.take_back(c, d.keys[0], [NOW], summary.Total.DELETED), 4),
    "find a stretch": Case(lambda d, c: dead_ranges.find(c, d.keys[0], _old, NOW, CHECKED_AT, CHUNK), 5 * CHUNK),
    "find the last stretch": Case(
        lambda d, c: dead_ranges.find(c, d.keys[0], Spot(CHECKED_AT, "~"), NOW, CHECKED_AT, CHUNK), 5 * TAIL + 10
    ),
    **{f"{act.value} a chunk": Case(lambda d, c, act=act: d.chunk(act)(c), 6 * CHUNK)  # type: ignore[misc]
       for act in (DeadAct.DELETE, DeadAct.REQUEUE, DeadAct.ARCHIVE)},
    "rows to move": Case(lambda d, c: dead_ranges.rows(c, stretch(d, c)), 6 * CHUNK, sorts=True),
}  # fmt: skip


def stretch(one: Dead, connection: Connection) -> dead_ranges.Stretch:
    """The first of the crowded consumer's dead."""
    found = dead_ranges.find(connection, one.keys[0], _old, NOW, CHECKED_AT, CHUNK)
    assert found is not None
    return dead_ranges.Stretch(one.keys[0], _old, *found, *dead_ranges.condition_of(NOTHING, deletable_only=True))
