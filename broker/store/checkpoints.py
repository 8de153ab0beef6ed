"""The checkpoint: new deaths are added to the summary, and its rows move on to a later moment, in one transaction.

Lock order: the named lock's row, summary rows by consumer, then entries of job_dead in share mode.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Select, case, delete, insert, or_, select, update

from broker.store.moments import SqlTime
from broker.store.summary import ANNOUNCED, BEGINNING
from broker.store.tables import DLQ_COUNTS, channel, consumer, dlq_history, dlq_run
from broker.store.tables import dlq_summary as t

KEYS_PER_STATEMENT = 500
_CLOSING = {"count": t.c.dead_count, **{name: t.c[f"{name}_total"] for name in DLQ_COUNTS[1:]}}
_names = (
    select(t.c.consumerId, consumer.c.name, channel.c.channelId, channel.c.name.label("channelName"))
    .join(consumer, consumer.c.id == t.c.consumerId)
    .join(channel, channel.c.id == consumer.c.channelId)
    .where(
        or_(
            t.c.consumerName != consumer.c.name,
            t.c.channelId != channel.c.channelId,
            t.c.channelName != channel.c.name,
        )
    )
)


class Run(NamedTuple):
    """When something ran last, how long it took, how much it counted, and who did it."""

    ran_at: datetime
    seconds: float
    counted: int
    owner: str


def lock_all(connection: Connection) -> dict[int, datetime]:
    """Lock every summary row, the lowest consumer first; gives their last checkpoints. Primary key."""
    query = select(t.c.consumerId, t.c.last_checked_at).order_by(t.c.consumerId).with_for_update()
    return {row.consumerId: row.last_checked_at for row in connection.execute(query)}


def standing(connection: Connection) -> tuple[datetime, dict[int, datetime]]:
    """The database's time and the last checkpoints, unlocked; a consumer without a row stands at the beginning."""
    query = select(consumer.c.id, t.c.last_checked_at)
    query = query.outerjoin(t, t.c.consumerId == consumer.c.id).where(consumer.c.consumerId.is_not(None))
    rows = connection.execute(query).all()
    return SqlTime(connection).moment, {row.id: row.last_checked_at or BEGINNING for row in rows}


def announce(connection: Connection, until: datetime, owner: str) -> None:
    """How far the checkpoint that holds the lock will count; must be committed before it counts (see summary)."""
    remember_run(connection, ANNOUNCED, Run(until, 0.0, 0, owner))


def add_deaths(connection: Connection, counts: Mapping[int, int]) -> None:
    """New deaths come into the count. Primary key."""
    for keys in _parts(sorted(counts)):
        more = case({key: counts[key] for key in keys}, value=t.c.consumerId)
        changed = {t.c.dead_count: t.c.dead_count + more, t.c.died_total: t.c.died_total + more}
        connection.execute(update(t).where(t.c.consumerId.in_(keys)).values(changed))


def move_on(connection: Connection, keys: Sequence[int], to: datetime) -> None:
    """Rows stand at a later checkpoint; what happened since the one before goes into the history. Primary key."""
    for some in _parts(sorted(keys)):
        mine = t.c.consumerId.in_(some)
        connection.execute(update(t).where(mine).values(last_checked_at=to))
        connection.execute(insert(dlq_history).from_select(_HISTORY, _happened().where(mine)))
        connection.execute(update(t).where(mine).values({t.c[f"opening_{name}"]: _CLOSING[name] for name in _CLOSING}))


def refresh_names(connection: Connection) -> int:
    """Names that were changed since; gives how many rows had old ones."""
    rows = connection.execute(_names).all()
    for key, name, channel_id, channel_name in rows:
        names = {"consumerName": name, "channelId": channel_id, "channelName": channel_name}
        connection.execute(update(t).where(t.c.consumerId == key).values(**names))
    return len(rows)


def remember_run(connection: Connection, name: str, run: Run) -> None:
    """What ran last, for every instance to show; who comes second to the very first run leaves it. Primary key."""
    values = {"ranAt": run.ran_at, "microseconds": round(run.seconds * 1e6), "counted": run.counted, "owner": run.owner}
    changed = connection.execute(update(dlq_run).where(dlq_run.c.name == name).values(**values))
    if not changed.rowcount:
        row = insert(dlq_run).values(name=name, **values)
        connection.execute(row.prefix_with("IGNORE", dialect="mysql").prefix_with("OR IGNORE", dialect="sqlite"))


def last_run(connection: Connection, name: str) -> Run | None:
    """What ran last under this name. Primary key."""
    query = select(dlq_run.c.ranAt, dlq_run.c.microseconds, dlq_run.c.counted, dlq_run.c.owner)
    row = connection.execute(query.where(dlq_run.c.name == name)).first()
    return None if row is None else Run(row.ranAt, row.microseconds / 1e6, row.counted, row.owner)


def prune_history(connection: Connection, keys: Sequence[int], before: datetime) -> None:
    """Forget what is older. Primary key, a range for each consumer."""
    for some in _parts(sorted(keys)):
        old = (dlq_history.c.consumerId.in_(some), dlq_history.c.checkpointAt < before)
        connection.execute(delete(dlq_history).where(*old))


_HISTORY = ["consumerId", "checkpointAt", "opening", "died", "requeued", "deleted", "archived", "moved", "closing"]


def _happened() -> Select[*tuple[object, ...]]:
    """A line for each consumer that has dead jobs, or of which something died or went."""
    moved = [_CLOSING[name] - t.c[f"opening_{name}"] for name in DLQ_COUNTS[1:]]
    changed = [_CLOSING[name] != t.c[f"opening_{name}"] for name in DLQ_COUNTS[1:]]
    columns = (t.c.consumerId, t.c.last_checked_at, t.c.opening_count, *moved, t.c.dead_count)
    return select(*columns).where(or_(t.c.dead_count != 0, *changed))


def _parts(keys: Sequence[int]) -> list[list[int]]:
    return [list(keys[at : at + KEYS_PER_STATEMENT]) for at in range(0, len(keys), KEYS_PER_STATEMENT)]
