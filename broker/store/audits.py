"""Recounts, to prove the summary; in ranges of bounded length."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select, update

from broker.store.dead_tails import Tail, count_deaths, nth_death
from broker.store.summary import BEGINNING
from broker.store.tables import DLQ_COUNTS
from broker.store.tables import dlq_history as h
from broker.store.tables import dlq_summary as t
from broker.store.types import now

DEATHS_AT_ONCE = 200_000


class Counted(NamedTuple):
    """What the summary says of a consumer, and what the jobs say."""

    stored: int
    real: int

    @property
    def drift(self) -> int:
        """How far the summary is off: always 0, or something is wrong."""
        return self.stored - self.real


class Broken(NamedTuple):
    """A line of the history that does not balance, or does not follow from the one before it."""

    consumer_key: int
    checkpoint_at: datetime
    expected: int
    found: int


def recount(connection: Connection, consumer_key: int, lock: bool = False) -> Counted | None:
    """All statements must see the same moment, or the row be locked. Primary key, then job_dead in ranges."""
    query = select(t.c.dead_count, t.c.last_checked_at).where(t.c.consumerId == consumer_key)
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None else Counted(row.dead_count, _count(connection, consumer_key, row.last_checked_at, lock))


def write_drift(connection: Connection, consumer_key: int, drift: int) -> None:
    """What an audit found, for every instance to show. Primary key."""
    connection.execute(update(t).where(t.c.consumerId == consumer_key).values(drift=drift, audited_at=now()))


def correct(connection: Connection, consumer_key: int, real: int) -> None:
    """Put the real count in place; what died is set so that the next line of history balances. Primary key."""
    gone = [t.c[f"{name}_total"] - t.c[f"opening_{name}"] for name in DLQ_COUNTS[2:]]
    died = t.c.opening_died - t.c.opening_count + real + gone[0] + gone[1] + gone[2] + gone[3]
    mine = update(t).where(t.c.consumerId == consumer_key)
    connection.execute(mine.values({t.c.dead_count: real, t.c.died_total: died}))


def unbalanced(connection: Connection, most: int) -> list[Broken]:
    """Lines in which opening + died - gone is not closing, or opening is not the closing of the line before."""
    gone = h.c.requeued + h.c.deleted + h.c.archived + h.c.moved
    before = func.lag(h.c.closing).over(partition_by=h.c.consumerId, order_by=h.c.checkpointAt)
    lines = select(
        h.c.consumerId, h.c.checkpointAt, (h.c.opening + h.c.died - gone).label("sum"), h.c.closing, h.c.opening,
        func.coalesce(before, h.c.opening).label("before"),
    ).subquery()  # fmt: skip
    wrong = (lines.c.sum != lines.c.closing) | (lines.c.before != lines.c.opening)
    rows = connection.execute(select(lines).where(wrong).limit(most))
    return [
        Broken(row.consumerId, row.checkpointAt, *_difference(row.sum, row.closing, row.before, row.opening))
        for row in rows
    ]


def audited(connection: Connection) -> Sequence[int]:
    """Every consumer that has a summary row."""
    return connection.execute(select(t.c.consumerId).order_by(t.c.consumerId)).scalars().all()


def _count(connection: Connection, consumer_key: int, until: datetime, lock: bool) -> int:
    found, tail = 0, Tail((consumer_key,), BEGINNING, until)
    while tail.low < until:
        end = nth_death(connection, tail, DEATHS_AT_ONCE) or until
        found += sum(count_deaths(connection, tail._replace(high=end), lock=lock).values())
        tail = tail._replace(low=end)
    return found


def _difference(total: int, closing: int, before: int, opening: int) -> tuple[int, int]:
    return (total, closing) if total != closing else (before, opening)
