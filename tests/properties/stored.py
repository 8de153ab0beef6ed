"""What two databases hold, in a form that can be compared: public ids for keys, times by their distance."""

from collections import Counter
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from broker.domain.times import show_time
from broker.store.tables import channel, consumer, dlq_summary, job, message, metadata
from tests.properties.sides import Side

JobCounts = dict[tuple[str, str], int]


def empty(side: Side) -> None:
    """Remove every row; the schema stays."""

    def work(connection: Connection) -> None:
        for table in (channel, consumer):
            connection.execute(update(table).values(deadChannelId=None))
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))

    side.broker.parts.database.write("empty", work)


def row_counts(side: Side) -> dict[str, int]:
    """How many rows each table has."""
    counts = {table.name: select(func.count()).select_from(table) for table in metadata.sorted_tables}
    return {name: _read(side, lambda c, count=count: c.execute(count).scalar_one()) for name, count in counts.items()}


def job_counts(side: Side) -> JobCounts:
    """How many jobs each message has, by channel and message id."""
    query = (
        select(channel.c.channelId, message.c.messageId, func.count(job.c.id))
        .join(channel, channel.c.id == message.c.channelId)
        .outerjoin(job, job.c.messageId == message.c.id)
        .group_by(message.c.id, channel.c.channelId, message.c.messageId)
        .order_by(message.c.id)
    )
    rows = _read(side, lambda c: c.execute(query).all())
    counts = {(row[0], side.normal.text(row[1])): row[2] for row in rows}
    assert len(counts) == len(rows), "two messages of a channel have the same id"
    return counts


def summaries(side: Side) -> dict[tuple[str, str], int]:
    """How many rows of dlq_summary each consumer has."""
    query = (
        select(channel.c.channelId, consumer.c.consumerId, func.count(dlq_summary.c.consumerId))
        .join(channel, channel.c.id == consumer.c.channelId)
        .outerjoin(dlq_summary, dlq_summary.c.consumerId == consumer.c.id)
        .group_by(consumer.c.id, channel.c.channelId, consumer.c.consumerId)
    )
    return {(row[0], row[1]): row[2] for row in _read(side, lambda c: c.execute(query).all())}


def jobs(side: Side) -> Counter[Any]:
    """Every job with what decides about its delivery, its times as distances from when its message is due."""
    query = (
        select(message.c.messageId, message.c.deliverAt, channel.c.channelId, consumer.c.consumerId, job)
        .join(message, message.c.id == job.c.messageId)
        .join(consumer, consumer.c.id == job.c.consumerId)
        .join(channel, channel.c.id == consumer.c.channelId)
        .order_by(job.c.id)
    )
    rows = _read(side, lambda c: c.execute(query).all())
    return Counter((side.normal.text(row[0]), row[2], row[3], *_delivery(side, row)) for row in rows)


def _delivery(side: Side, row: Any) -> tuple[Any, ...]:
    times = [_distance(side, time, row.deliverAt) for time in (row.earliestNextAttemptAt, row.expiresAt)]
    return *times, *_life(row), row.priority, row.status, row.deadReason, row.retryAttemptCount, row.replayCount


def _life(row: Any) -> tuple[bool, bool]:
    """Whether its times fit together; who is dead on arrival is stamped then, or a moment later."""
    if row.deadAt is None:
        return row.statusChangedAt == row.createdAt, True
    return row.deadAt >= row.createdAt, row.deadAt == row.statusChangedAt


def _distance(side: Side, time: datetime | None, origin: datetime) -> str | float | None:
    """A time that a caller gave is compared as it is."""
    if time is None:
        return None
    shown = show_time(time)
    return shown if side.normal.is_given(shown) else (time - origin).total_seconds()


def _read(side: Side, work: Any) -> Any:
    return side.broker.parts.database.read("compare", work)
