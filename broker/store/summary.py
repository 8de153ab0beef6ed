"""Dead jobs that are taken back, and what the dead-letter summary must forget of them.

A dead job is counted if and only if its statusChangedAt <= last_checked_at of its consumer's row. Lock order
everywhere: summary rows, the lowest consumer first, then jobs by id.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, select, update

from broker.store.tables import dlq_summary as t


class Total(StrEnum):
    """Where the taken back went; the column that counts them for ever."""

    REQUEUED = "requeued_total"
    DELETED = "deleted_total"
    ARCHIVED = "archived_total"
    MOVED = "moved_total"


def lock(connection: Connection, consumer_keys: Iterable[int]) -> None:
    """Lock the summary rows of consumers, before any of their jobs. Primary key."""
    for key in sorted(set(consumer_keys)):
        connection.execute(select(t.c.consumerId).where(t.c.consumerId == key).with_for_update()).first()


def take_back(connection: Connection, consumer_key: int, died_at: Sequence[datetime], total: Total) -> None:
    """Dead jobs of a consumer are dead no more; `died_at` has the old statusChangedAt of each of them.

    The summary row must be locked. Those that no checkpoint has counted were never in dead_count, nor in died_total:
    there they are added now, so that what died and what went always balance. Primary key.
    """
    if not died_at:
        return
    checked_at = connection.execute(select(t.c.last_checked_at).where(t.c.consumerId == consumer_key)).scalar_one()
    counted = sum(at <= checked_at for at in died_at)
    connection.execute(
        update(t)
        .where(t.c.consumerId == consumer_key)
        .values(
            {
                t.c.dead_count: t.c.dead_count - counted,
                t.c.died_total: t.c.died_total + len(died_at) - counted,
                t.c[total.value]: t.c[total.value] + len(died_at),
            }
        )
    )
