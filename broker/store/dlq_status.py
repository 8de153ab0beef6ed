"""How many are dead at this moment: the summary and the few deaths since its checkpoint, in one statement.

The bounds of the tails are given as values (see dead_tails). The statement reads the checkpoints too, so that whoever
moved in between is seen, and asked about again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from broker.domain.registry import Overrides
from broker.domain.states import ConsumerType
from broker.store.bulk import time_text
from broker.store.dead_tails import dead_index, tails_of, within
from broker.store.moments import SqlTime, as_time
from broker.store.summary import BEGINNING
from broker.store.tables import DLQ_COUNTS, channel, consumer
from broker.store.tables import dlq_summary as t
from broker.store.types import AnyRow

CONSUMERS_PER_STATEMENT, DIVES_PER_STATEMENT = 1000, 400
_TOTALS = [f"{name}_total" for name in DLQ_COUNTS[1:]]
_NO_ROW = (BEGINNING, 0, 0, *(0 for _ in _TOTALS))
_OLDEST = "SELECT {key}, (SELECT MIN(deadAt) FROM job WHERE consumerId = {key} AND deadAt >= '{low}')"


@dataclass(frozen=True, slots=True)
class Place:
    """A consumer whose dead are asked about, and where its summary stands."""

    key: int
    channel_id: str
    channel_name: str
    consumer_id: str
    consumer_name: str
    pushed: bool
    paused: bool
    overrides: Overrides
    channel_overrides: Overrides
    checked_at: datetime
    drift: int
    audited_at: datetime | None
    cleared_to: datetime | None


class Totals(NamedTuple):
    """What ever happened to a consumer's dead; `died` includes those that no checkpoint has counted yet."""

    died: int
    requeued: int
    deleted: int
    archived: int
    moved: int


class Count(NamedTuple):
    """A consumer's dead at one moment: all, those in the summary, and those who died since its checkpoint."""

    dead: int
    checkpointed: int
    since_checkpoint: int
    totals: Totals


def places(connection: Connection, channel_id: str | None, consumer_id: str | None) -> list[Place]:
    """The consumers that are asked about, in the order of their making."""
    query = (
        select(consumer.c.id, channel.c.channelId, channel.c.name, consumer.c.consumerId, consumer.c.name,
               consumer.c.type, consumer.c.paused, channel.c.paused, consumer.c.settings, channel.c.settings,
               t.c.last_checked_at, t.c.drift, t.c.audited_at, t.c.cleared_to)
        .select_from(consumer)
        .join(channel, channel.c.id == consumer.c.channelId)
        .outerjoin(t, t.c.consumerId == consumer.c.id)
        .where(consumer.c.consumerId.is_not(None), channel.c.channelId.is_not(None))
    )  # fmt: skip
    if channel_id is not None:
        query = query.where(channel.c.channelId == channel_id)
    if consumer_id is not None:
        query = query.where(consumer.c.consumerId == consumer_id)
    return sorted(map(_place, connection.execute(query)), key=lambda one: one.key)


def count(connection: Connection, checked_at: Mapping[int, datetime]) -> dict[int, Count]:
    """The counts of those who stand where they were said to; who has moved on since is left out."""
    found: dict[int, Count] = {}
    for keys in _parts(sorted(checked_at), CONSUMERS_PER_STATEMENT):
        rows = connection.exec_driver_sql(statement(connection, {key: checked_at[key] for key in keys})).all()
        tails = {row[0]: int(row[2]) for row in rows if row[1] is None}
        summaries = {row[0]: row[1:] for row in rows if row[1] is not None}
        for key in keys:
            at, *counts = summaries.get(key, _NO_ROW)
            if as_time(at) == checked_at[key]:
                found[key] = _count(*counts, tail=tails.get(key, 0))
    return found


def statement(connection: Connection, checked_at: Mapping[int, datetime]) -> str:
    """Summary rows by primary key; tails by one range of job_dead for each consumer. Two parts of one statement and no
    join: a server that joins them may rather read all of a consumer's dead."""
    keys = ",".join(str(int(key)) for key in checked_at)
    padding = ", 0" * len(_TOTALS)
    return (
        f"SELECT consumerId, last_checked_at, dead_count, died_total - opening_died, {', '.join(_TOTALS)}"
        f" FROM dlq_summary WHERE consumerId IN ({keys})"
        f" UNION ALL SELECT consumerId, NULL, COUNT(*), 0{padding} FROM {dead_index(connection)}"
        f" WHERE {within(tails_of(checked_at))} GROUP BY consumerId"
    )


def oldest_deaths(connection: Connection, cleared_to: Mapping[int, datetime | None]) -> dict[int, datetime]:
    """When the longest dead of each consumer died. Index: job_dead, a dive each, whatever the statistics say.

    It starts where bulk work has cleared to: a server walks over what was deleted until nobody can see it any more.
    """
    found: dict[int, datetime] = {}
    lows = {int(key): time_text(at or BEGINNING) for key, at in cleared_to.items()}
    for some in _parts(sorted(lows), DIVES_PER_STATEMENT):
        rows = connection.exec_driver_sql(" UNION ALL ".join(_OLDEST.format(key=key, low=lows[key]) for key in some))
        found.update({row[0]: as_time(row[1]) for row in rows if row[1] is not None})
    return found


def died_in_last_hour(connection: Connection, keys: Sequence[int]) -> dict[int, int]:
    """What the checkpoints of the last hour counted. Primary key of dlq_history, a range for each consumer."""
    found: dict[int, int] = {}
    since = SqlTime(connection).after(-3600)
    for some in _parts(keys, CONSUMERS_PER_STATEMENT):
        listed = ",".join(str(int(key)) for key in some)
        rows = connection.exec_driver_sql(
            f"SELECT consumerId, SUM(died) FROM dlq_history WHERE consumerId IN ({listed})"
            f" AND checkpointAt > {since} GROUP BY consumerId"
        )
        found.update({row[0]: int(row[1]) for row in rows})
    return found


def _count(counted: int, since_opening: int, died: int, *gone: int, tail: int) -> Count:
    return Count(counted + tail, counted, since_opening + tail, Totals(died + tail, *gone))


def _place(row: AnyRow) -> Place:
    key, channel_id, channel_name, consumer_id, name, kind, paused, channel_paused, *others = row
    settings, channel_settings, checked_at, drift, *times = others
    names = (channel_id, channel_name, consumer_id, name)
    state = (kind == ConsumerType.PUSH, bool(paused or channel_paused))
    overrides = (json.loads(settings), json.loads(channel_settings))
    return Place(key, *names, *state, *overrides, checked_at or BEGINNING, drift or 0, *times)


def _parts(keys: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (keys[at : at + size] for at in range(0, len(keys), size))
