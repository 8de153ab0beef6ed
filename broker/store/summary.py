"""The dead-letter summary where jobs die and where the dead are taken back.

A dead job is counted if and only if its statusChangedAt <= last_checked_at of its consumer's row. Lock order
everywhere: summary rows, the lowest consumer first, then jobs by id.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection, delete, func, insert, literal, select, update

from broker.store.faults import Again
from broker.store.tables import channel, consumer, dlq_history, dlq_run
from broker.store.tables import dlq_summary as t
from broker.store.types import AnyRow, UtcDateTime, now

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_ROW = ["consumerId", "consumerName", "channelId", "channelName", "last_checked_at"]
_MISSING = (
    select(consumer.c.id, consumer.c.name, channel.c.channelId, channel.c.name.label("channelName"))
    .join(channel, channel.c.id == consumer.c.channelId)
    .outerjoin(t, t.c.consumerId == consumer.c.id)
    .where(t.c.consumerId.is_(None), consumer.c.consumerId.is_not(None), channel.c.channelId.is_not(None))
)
TICK = timedelta(microseconds=1)
ANNOUNCED = "announced"


class Total(StrEnum):
    """Where the taken back went; the column that counts them for ever."""

    REQUEUED = "requeued_total"
    DELETED = "deleted_total"
    ARCHIVED = "archived_total"
    MOVED = "moved_total"


@contextmanager
def stamped(connection: Connection, consumer_keys: Collection[int], settle: float) -> Iterator[datetime]:
    """The moment that deaths of these consumers are stamped with; write them inside, with nothing slow in between.

    A checkpoint says how far it will count, commits that, and only then counts; it waits for what is written and not
    yet committed. So a death is missed by none if, after it was written, no checkpoint has announced to count up to its
    stamp: whichever announces so later finds it. This holds whatever the clocks do. A stamp is lifted over a checkpoint
    that is ahead of the clock; a transaction that was overtaken, or took longer than the `settle` seconds that
    checkpoints stay behind, is rolled back and done again.
    """
    started, checkpoint = _clock_and_checkpoint(connection, consumer_keys)
    stamp = started if checkpoint is None else max(started, checkpoint + TICK)
    yield stamp
    ended, checkpoint = _clock_and_checkpoint(connection, consumer_keys)
    in_time = timedelta(0) <= ended - started <= timedelta(seconds=settle)
    if not in_time or (checkpoint is not None and checkpoint >= stamp):
        raise Again("deaths were written too late for their stamp")


def lock(connection: Connection, consumer_keys: Iterable[int]) -> dict[int, datetime]:
    """Lock the summary rows of consumers, before any of their jobs; gives their last checkpoints. Primary key.

    A row that somebody removed is made anew, with nothing counted; a deleted consumer has none.
    """
    found: dict[int, datetime] = {}
    for key in sorted(set(consumer_keys)):
        row = _locked(connection, key)
        if row is None:
            add_rows(connection, key)
            row = _locked(connection, key)
        if row is not None:
            found[key] = row.last_checked_at
    return found


def add_rows(connection: Connection, consumer_key: int | None = None) -> int:
    """A row for a living consumer that has none, or for each: nothing of it is counted yet, and its history begins
    anew. Gives how many.

    A new row locks its consumer, whose deletion must then wait; one that was deleted just before loses its row again.
    """
    missing = _MISSING if consumer_key is None else _MISSING.where(consumer.c.id == consumer_key)
    if connection.execute(missing.limit(1)).first() is None:
        return 0
    old = missing.with_only_columns(consumer.c.id)
    connection.execute(delete(dlq_history).where(dlq_history.c.consumerId.in_(old)))
    row = insert(t).from_select(_ROW, missing.add_columns(literal(BEGINNING, UtcDateTime)))
    added = connection.execute(row.prefix_with("IGNORE", dialect="mysql").prefix_with("OR IGNORE", dialect="sqlite"))
    gone = select(consumer.c.id).where(consumer.c.deletedAt.is_not(None))
    connection.execute(delete(t).where(t.c.consumerId.in_(gone)))
    return added.rowcount


def _locked(connection: Connection, consumer_key: int) -> AnyRow | None:
    return connection.execute(
        select(t.c.last_checked_at).where(t.c.consumerId == consumer_key).with_for_update()
    ).first()


def take_back(connection: Connection, consumer_key: int, died_at: Sequence[datetime], total: Total) -> None:
    """Dead jobs of a consumer are dead no more; `died_at` has the old statusChangedAt of each of them.

    The summary row must be locked; that of a deleted consumer is gone. Primary key.
    """
    checked_at = connection.execute(select(t.c.last_checked_at).where(t.c.consumerId == consumer_key)).scalar()
    if died_at and checked_at is not None:
        counted = sum(at <= checked_at for at in died_at)
        forget(connection, consumer_key, counted, len(died_at) - counted, total)


def forget(connection: Connection, consumer_key: int, counted: int, uncounted: int, total: Total) -> None:
    """So many dead are dead no more, of those that a checkpoint has counted, and of those that none has.

    The latter never were in dead_count, nor in died_total: there they are added now, so that what died and what went
    always balance. The summary row must be locked. Primary key.
    """
    connection.execute(
        update(t)
        .where(t.c.consumerId == consumer_key)
        .values(
            {
                t.c.dead_count: t.c.dead_count - counted,
                t.c.died_total: t.c.died_total + uncounted,
                t.c[total.value]: t.c[total.value] + counted + uncounted,
            }
        )
    )


def _clock_and_checkpoint(connection: Connection, consumer_keys: Collection[int]) -> tuple[datetime, datetime | None]:
    """The database's time, and how far any of these consumers is counted or about to be, as committed. Primary keys."""
    announced = select(dlq_run.c.ranAt).where(dlq_run.c.name == ANNOUNCED).scalar_subquery()
    query = select(now(), func.max(t.c.last_checked_at), announced).where(t.c.consumerId.in_(consumer_keys))
    moment, *checkpoints = connection.execute(query).one()
    return moment, max((one for one in checkpoints if one is not None), default=None)
