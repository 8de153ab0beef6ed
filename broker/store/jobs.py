"""Jobs as people look at them: with their consumer, channel, message and producer, and with their history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from broker.domain.states import JobStatus
from broker.store.tables import channel, consumer, job, job_event, job_origin, lease, message, producer
from broker.store.types import AnyRow, now

IDS_PER_STATEMENT = 150
_ORIGIN = ("sourceJobId", "sourceChannelId", "sourceConsumerId", "sourceMessageId", "errorType", "errorText",
           "failedAt", "retryCount")  # fmt: skip
_QUERY = (
    select(
        job,
        consumer.c.consumerId.label("publicId"),
        consumer.c.name,
        consumer.c.callbackUrl,
        channel.c.channelId,
        message.c.messageId.label("publicMessageId"),
        producer.c.producerId,
        lease.c.expiresAt.label("leaseExpiresAt"),
        now().label("readAt"),
        *(job_origin.c[name].label(f"origin{name}") for name in _ORIGIN),
    )
    .prefix_with("STRAIGHT_JOIN", dialect="mysql")
    .join(consumer, consumer.c.id == job.c.consumerId)
    .join(channel, channel.c.id == consumer.c.channelId)
    .join(message, message.c.id == job.c.messageId)
    .join(producer, producer.c.id == message.c.producerId)
    .outerjoin(lease, lease.c.token == job.c.leaseToken)
    .outerjoin(job_origin, job_origin.c.jobId == job.c.id)
    .where(consumer.c.consumerId.is_not(None))
    .with_hint(job, "FORCE INDEX (PRIMARY)", "mysql")
    .with_hint(job_origin, "FORCE INDEX (PRIMARY)", "mysql")
)


@dataclass(frozen=True, slots=True)
class JobError:
    """What went wrong last."""

    type: str | None
    category: str | None
    text: str | None
    fingerprint: str | None


@dataclass(frozen=True, slots=True)
class JobOrigin:
    """Where a job of a dead channel came from."""

    job_id: str
    channel_id: str
    consumer_id: str
    message_id: str | None
    error_type: str | None
    error_text: str | None
    failed_at: datetime
    retry_count: int


@dataclass(frozen=True, slots=True)
class StoredJobFull:
    """All there is to know about a job, but for its payload and history; with the database's time of reading."""

    id: str
    consumer_key: int
    message_key: str
    consumer_id: str
    consumer_name: str
    callback_url: str | None
    channel_id: str
    message_id: str
    producer_id: str
    priority: int
    status: JobStatus
    status_changed_at: datetime
    created_at: datetime
    next_attempt_at: datetime | None
    dead_at: datetime | None
    expires_at: datetime | None
    retry_attempt_count: int
    replay_count: int
    outcome: str | None
    dead_reason: str | None
    applied_policy: str | None
    applied_max_retries: int | None
    error: JobError | None
    lease_expires_at: datetime | None
    origin: JobOrigin | None
    read_at: datetime


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One line of a job's history."""

    at: datetime
    event: str
    actor: str
    error_type: str | None
    error_category: str | None
    detail: str | None


def find(connection: Connection, job_id: str) -> StoredJobFull | None:
    """One job of a living consumer. Primary keys."""
    return next(iter(find_several(connection, [job_id])), None)


def find_several(connection: Connection, ids: Sequence[str]) -> list[StoredJobFull]:
    """Jobs in the order of their ids, without those that are gone. Primary keys."""
    found: dict[str, StoredJobFull] = {}
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        query = _QUERY.where(job.c.id.in_(ids[start : start + IDS_PER_STATEMENT]))
        found.update({row.id: _stored(row) for row in connection.execute(query)})
    return [found[one] for one in ids if one in found]


def starting_with(connection: Connection, prefix: str, most: int) -> list[str]:
    """Up to `most` ids of living consumers' jobs that start so. Primary key, one range."""
    query = (
        select(job.c.id)
        .prefix_with("STRAIGHT_JOIN", dialect="mysql")
        .join(consumer, consumer.c.id == job.c.consumerId)
        .where(job.c.id >= prefix.ljust(20, "0"), job.c.id <= prefix.ljust(20, "v"), consumer.c.consumerId.is_not(None))
        .order_by(job.c.id)
        .limit(most)
        .with_hint(job, "FORCE INDEX (PRIMARY)", "mysql")
    )
    return list(connection.execute(query).scalars())


def history(connection: Connection, job_id: str, most: int | None = None) -> list[JobEvent]:
    """What happened to a job, or the last of it, first things first: ids of two processes say nothing about the order
    within a second.

    Primary key of job_event; the few rows are sorted here.
    """
    e = job_event.c
    query = select(e.happenedAt, e.event, e.actor, e.errorType, e.errorCategory, e.detail).where(e.jobId == job_id)
    ordered = query.order_by(e.id) if most is None else query.order_by(e.id.desc()).limit(most)
    found = [JobEvent(*row) for row in connection.execute(ordered)]
    return sorted(found if most is None else reversed(found), key=lambda one: one.at)


def _stored(row: AnyRow) -> StoredJobFull:
    return StoredJobFull(
        id=row.id,
        consumer_key=row.consumerId,
        message_key=row.messageId,
        consumer_id=row.publicId,
        consumer_name=row.name,
        callback_url=row.callbackUrl,
        channel_id=row.channelId,
        message_id=row.publicMessageId,
        producer_id=row.producerId,
        priority=row.priority,
        status=JobStatus(row.status),
        status_changed_at=row.statusChangedAt,
        created_at=row.createdAt,
        next_attempt_at=row.earliestNextAttemptAt,
        dead_at=row.deadAt,
        expires_at=row.expiresAt,
        retry_attempt_count=row.retryAttemptCount,
        replay_count=row.replayCount,
        outcome=row.outcome,
        dead_reason=row.deadReason,
        applied_policy=row.appliedPolicy,
        applied_max_retries=row.appliedMaxRetries,
        error=None if row.errorType is None else _error(row),
        lease_expires_at=row.leaseExpiresAt,
        origin=None if row.originsourceJobId is None else JobOrigin(*(row._mapping[f"origin{n}"] for n in _ORIGIN)),
        read_at=row.readAt,
    )


def _error(row: AnyRow) -> JobError:
    return JobError(row.errorType, row.errorCategory, row.errorText, row.errorFingerprint)
