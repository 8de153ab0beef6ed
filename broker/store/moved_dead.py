"""The dead letters of a consumer that were moved: jobs of a dead channel's built-in consumer, found by their origin.

They are walked in the order in which they were published to the consumer that they died at, a bounded step at a time:
nothing but the origins of that dead channel is read, those of other consumers among them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select, text

from broker.domain.states import JobStatus
from broker.store.moments import as_time, by_key, quoted
from broker.store.tables import channel, consumer
from broker.store.types import AnyRow


class Home(NamedTuple):
    """Where a living consumer lives."""

    key: int
    consumer_id: str
    channel_key: int
    channel_id: str


class Moved(NamedTuple):
    """A job of a dead channel with its origin."""

    job_id: str
    source_job_id: str
    channel_id: str
    consumer_id: str
    error_type: str
    error_text: str
    failed_at: datetime
    retry_count: int
    source_message_id: str | None
    status: JobStatus
    message_key: str


def home(connection: Connection, consumer_key: int) -> Home | None:
    """A consumer by its key; none when it is deleted. Primary keys."""
    query = (
        select(consumer.c.id, consumer.c.consumerId, channel.c.id, channel.c.channelId)
        .join(channel, channel.c.id == consumer.c.channelId)
        .where(consumer.c.id == consumer_key, consumer.c.consumerId.is_not(None), channel.c.channelId.is_not(None))
    )
    row = connection.execute(query).first()
    return None if row is None else Home(*row)


def channels_with(connection: Connection, consumer_id: str, most: int) -> Sequence[str]:
    """Channels that have a consumer of this id, by their names. Index: consumer_public, one dive for each channel."""
    query = (
        select(channel.c.channelId)
        .join(consumer, (consumer.c.channelId == channel.c.id) & (consumer.c.consumerId == consumer_id))
        .where(channel.c.channelId.is_not(None))
        .order_by(channel.c.channelId)
    )
    return connection.execute(query.limit(most)).scalars().all()


def find(connection: Connection, consumer_key: int, after: str, most: int) -> list[Moved]:
    """The next that came to a consumer from any other. Index: job_origin_source, one range; then primary keys."""
    sqlite = connection.dialect.name == "sqlite"
    index, join = ("", "CROSS JOIN") if sqlite else ("FORCE INDEX (job_origin_source)", "STRAIGHT_JOIN")
    statement = (
        "SELECT o.jobId, o.sourceJobId, o.sourceChannelId, o.sourceConsumerId, COALESCE(o.errorType, ''),"
        " COALESCE(o.errorText, ''), o.failedAt, o.retryCount, o.sourceMessageId, job.status, job.messageId"
        f" FROM job_origin AS o {index} {join} {by_key(connection)} ON job.id = o.jobId"
        " WHERE o.consumerId = :key AND o.sourceJobId > :after ORDER BY o.consumerId, o.sourceJobId LIMIT :most"
    )
    rows = connection.execute(text(statement), {"key": consumer_key, "after": after, "most": most})
    return [_moved(row) for row in rows]


def categories(connection: Connection, found: Iterable[Moved]) -> dict[str, str]:
    """Of which category the error was that each died of: what its history said up to then. Primary key of job_event."""
    died_at = {one.job_id: one.failed_at for one in found}
    if not died_at:
        return {}
    statement = (
        f"SELECT jobId, happenedAt, errorCategory FROM {by_key(connection, 'job_event')}"
        f" WHERE jobId IN ({quoted(sorted(died_at))}) AND errorCategory IS NOT NULL"
    )
    told = sorted((as_time(row[1]), row[0], row[2]) for row in connection.exec_driver_sql(statement))
    return {job_id: category for moment, job_id, category in told if moment <= died_at[job_id]}


def same_message(connection: Connection, channel_key: int, one: Moved) -> str | None:
    """The message that it was made of, where the channel still has it. Indexes: message_public, primary key."""
    if one.source_message_id is None:
        return None
    statement = (
        "SELECT there.id FROM message AS there JOIN message AS copy ON copy.id = :copy"
        " WHERE there.channelId = :channel AND there.messageId = :name"
        " AND there.payload = copy.payload AND there.contentType = copy.contentType"
    )
    values = {"copy": one.message_key, "channel": channel_key, "name": one.source_message_id}
    found: str | None = connection.execute(text(statement), values).scalar()
    return found


def _moved(row: AnyRow) -> Moved:
    *ids_and_error, failed_at, retries, message_id, status, message_key = row
    return Moved._make((*ids_and_error, as_time(failed_at), retries, message_id, JobStatus(status), message_key))
