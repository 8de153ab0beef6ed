"""Where dying jobs go when they do not just stay: moved to a dead channel, discarded, or in another's place."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, literal_column, select

from broker.domain.states import JobStatus
from broker.store import summary
from broker.store.moments import SqlTime, by_key, quoted, run
from broker.store.removing import remove
from broker.store.tables import job, job_event
from broker.store.tables import job_origin as origin
from broker.store.types import AnyRow


class Move(NamedTuple):
    """A job on its way to a dead channel, or back; `message_key` and `job_id` are its new ones.

    `message_is_there`: it finds its message where it goes. `failed_at`: when it died, if that is not now.
    """

    source_id: str
    source_message_key: str
    source_channel: str
    source_consumer: str
    error_type: str
    error_text: str
    retries_made: int
    job_id: str
    message_key: str
    message_is_there: bool = False
    failed_at: datetime | None = None
    replays: int = 0


def count_dead(connection: Connection, consumer_key: int, most: int) -> int:
    """How many are dead, counted to `most`. Index: job_dead."""
    dead = select(job.c.id).where(job.c.consumerId == consumer_key, job.c.deadAt.is_not(None)).limit(most)
    dead = dead.with_hint(job, "FORCE INDEX (job_dead)", "mysql")
    return int(connection.execute(select(func.count()).select_from(dead.subquery())).scalar_one())


def archive_oldest(connection: Connection, time: SqlTime, consumer_key: int, count: int) -> None:
    """Those that died first make room; the summary row is locked. Index: job_dead, then primary key."""
    rows = _oldest_dead(connection, consumer_key, count)
    run(
        connection,
        f"UPDATE {by_key(connection)} SET status = {int(JobStatus.ARCHIVED)}, statusChangedAt = {time.now},"
        f" deadAt = NULL WHERE id IN ({quoted(row.id for row in rows)})",
    )
    summary.take_back(connection, consumer_key, [row.deadAt for row in rows], summary.Total.ARCHIVED)


def _oldest_dead(connection: Connection, consumer_key: int, count: int) -> Sequence[AnyRow]:
    query = (
        select(job.c.id, job.c.deadAt)
        .where(job.c.consumerId == consumer_key, job.c.deadAt.is_not(None))
        .order_by(job.c.deadAt, job.c.id)
        .limit(count)
        .with_hint(job, "FORCE INDEX (job_dead)", "mysql")
        .with_for_update()
    )
    return connection.execute(query).all()


def discard(connection: Connection, ids: Sequence[str]) -> None:
    """Remove jobs with their history and origin. Primary keys."""
    for table, column in ((job_event, "jobId"), (origin, "jobId"), (job, "id")):
        remove(connection, table, column, ids)


def move(connection: Connection, time: SqlTime, moves: Sequence[Move], dead_consumer: int, dead_channel: int) -> int:
    """Jobs leave their consumer and appear in the dead channel, history and all; one that is there already is let go.

    The payload is copied, so that the dead channel does not depend on the source's.
    """
    sources = [one.source_id for one in moves]
    query = select(origin.c.sourceJobId).where(origin.c.consumerId == dead_consumer, origin.c.sourceJobId.in_(sources))
    known = set(connection.execute(query).scalars())
    arriving = [one for one in moves if one.source_id not in known]
    for one in arriving:
        _arrive(connection, time, one, dead_consumer, dead_channel)
    discard(connection, sources)
    return len(arriving)


def _arrive(connection: Connection, time: SqlTime, one: Move, dead_consumer: int, dead_channel: int) -> None:
    """Indexes: primary keys; the message's new id in its channel is the id of the job that it comes from."""
    source = quoted([one.source_id])
    message_id = f"(SELECT messageId FROM message WHERE id = {quoted([one.source_message_key])})"
    connection.execute(
        insert(origin).values(
            jobId=one.job_id, consumerId=dead_consumer, sourceJobId=one.source_id, sourceChannelId=one.source_channel,
            sourceConsumerId=one.source_consumer, errorType=one.error_type, errorText=one.error_text,
            failedAt=one.failed_at or time.moment, retryCount=one.retries_made,
            sourceMessageId=literal_column(message_id),
        )
    )  # fmt: skip
    if not one.message_is_there:
        _copy_message(connection, time, one, dead_channel)
    run(
        connection,
        "INSERT INTO job (id, messageId, consumerId, priority, status, statusChangedAt, createdAt,"
        f" earliestNextAttemptAt, retryAttemptCount, replayCount) SELECT {quoted([one.job_id])},"
        f" {quoted([one.message_key])}, {int(dead_consumer)}, priority, {int(JobStatus.QUEUED)}, {time.now},"
        f" {time.now}, {time.now}, 0, replayCount + {int(one.replays)} FROM job WHERE id = {source}",
    )
    run(connection, f"UPDATE job_event SET jobId = {quoted([one.job_id])} WHERE jobId = {source}")


def _copy_message(connection: Connection, time: SqlTime, one: Move, dead_channel: int) -> None:
    run(
        connection,
        "INSERT INTO message (id, channelId, producerId, messageId, payload, contentType, headers, metadata, priority,"
        f" receivedAt, deliverAt, hopCount) SELECT {quoted([one.message_key])}, {int(dead_channel)}, producerId,"
        f" {quoted([one.source_id])}, payload, contentType, headers, metadata, priority, {time.now}, {time.now},"
        f" hopCount FROM message WHERE id = {quoted([one.source_message_key])}",
    )
