"""Reading messages, and taking back a scheduled one before it is due."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, func, select

from broker.domain.pages import Cursor, Page
from broker.domain.registry import Overrides
from broker.domain.states import JobStatus, MessageStatus
from broker.store.paging import Order, fetch_page
from broker.store.tables import consumer, job, producer
from broker.store.tables import message as t
from broker.store.tables import scheduled_message as s
from broker.store.types import AnyRow, AnySelect, now

_QUERY = (
    select(t, producer.c.producerId.label("producedBy"), s.c.id.label("scheduledId"), now().label("readAt"))
    .join(producer, producer.c.id == t.c.producerId)
    .outerjoin(s, s.c.id == t.c.id)
)


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as its message shows it."""

    id: str
    consumer_id: str
    consumer_name: str
    callback_url: str | None
    status: JobStatus
    status_changed_at: datetime
    next_attempt_at: datetime | None
    retry_attempt_count: int


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is read back, with the database's time of reading."""

    key: str
    message_id: str
    payload: bytes
    content_type: str
    produced_by: str
    headers: Mapping[str, str]
    metadata: Mapping[str, object] | None
    overrides: Overrides | None
    priority: int
    received_at: datetime
    deliver_at: datetime
    expires_at: datetime | None
    hop_count: int
    scheduled: bool
    read_at: datetime

    @property
    def is_due(self) -> bool:
        """Whether its jobs may be delivered."""
        return self.deliver_at <= self.read_at


def find(connection: Connection, channel_key: int, message_id: str) -> StoredMessage | None:
    """One message. Index: message_public."""
    row = connection.execute(_QUERY.where(t.c.channelId == channel_key, t.c.messageId == message_id)).first()
    return None if row is None else _stored(row)


def find_several(connection: Connection, keys: Sequence[str]) -> dict[str, StoredMessage]:
    """Messages by their keys; mind the payloads. Primary key."""
    query = _QUERY.where(t.c.id.in_(keys)).with_hint(t, "FORCE INDEX (PRIMARY)", "mysql")
    return {row.id: _stored(row) for row in connection.execute(query)}


def payload_sizes(connection: Connection, keys: Sequence[str]) -> dict[str, int]:
    """How many bytes messages carry. Primary key."""
    query = select(t.c.id, func.length(t.c.payload)).where(t.c.id.in_(keys))
    query = query.with_hint(t, "FORCE INDEX (PRIMARY)", "mysql")
    return {row[0]: row[1] for row in connection.execute(query)}


def jobs_of(connection: Connection, message_key: str) -> list[StoredJob]:
    """The jobs of a message, in the order of their making. Index: job_by_message."""
    query = (
        select(job.c.id, consumer.c.consumerId, consumer.c.name, consumer.c.callbackUrl, job.c.status,
               job.c.statusChangedAt, job.c.earliestNextAttemptAt, job.c.retryAttemptCount)
        .join(consumer, consumer.c.id == job.c.consumerId)
        .where(job.c.messageId == message_key, consumer.c.consumerId.is_not(None))
        .order_by(job.c.id)
    )  # fmt: skip
    return [StoredJob(*row[:4], JobStatus(row.status), *row[5:]) for row in connection.execute(query)]


def page(
    connection: Connection, channel_key: int, status: MessageStatus | None, cursor: Cursor | None, limit: int
) -> Page[str]:
    """Message ids by the time they are due, latest first. Index: message_by_time."""
    query = _with_status(select(t.c.deliverAt, t.c.id, t.c.messageId), status)
    order = Order((t.c.deliverAt, t.c.id), within=(t.c.channelId, channel_key))
    return fetch_page(connection, query, order, cursor, limit, lambda row: str(row[2]))


def scheduled_page(connection: Connection, channel_key: int, cursor: Cursor | None, limit: int) -> Page[str]:
    """Scheduled message ids, soonest first. Index: scheduled_message_by_time."""
    query = select(s.c.deliverAt, s.c.id, t.c.messageId).join(t, t.c.id == s.c.id)
    order = Order((s.c.deliverAt, s.c.id), descending=False, within=(s.c.channelId, channel_key))
    return fetch_page(connection, query, order, cursor, limit, lambda row: str(row[2]))


@dataclass(frozen=True, slots=True)
class Counts:
    """How many messages a channel has, by their place in time."""

    acknowledged: int
    dispatched: int
    scheduled: int
    schedule_dispatched: int
    next_scheduled_at: datetime | None


def counts(connection: Connection, channel_key: int) -> Counts:
    """All counts against one moment. Indexes: message_by_time, scheduled_message_by_time.

    MySQL would count by message_public, which does not cover the time, so that it reads every payload.
    """
    moment = connection.execute(select(now())).scalar_one()
    messages = select(func.count()).select_from(t).where(t.c.channelId == channel_key)
    messages = messages.with_hint(t, "FORCE INDEX (message_by_time)", "mysql")
    scheduled = select(func.count()).select_from(s).where(s.c.channelId == channel_key)
    soonest = select(func.min(s.c.deliverAt)).where(s.c.channelId == channel_key, s.c.deliverAt > moment)
    return Counts(
        acknowledged=connection.execute(messages.where(t.c.deliverAt > moment)).scalar_one(),
        dispatched=connection.execute(messages.where(t.c.deliverAt <= moment)).scalar_one(),
        scheduled=connection.execute(scheduled.where(s.c.deliverAt > moment)).scalar_one(),
        schedule_dispatched=connection.execute(scheduled.where(s.c.deliverAt <= moment)).scalar_one(),
        next_scheduled_at=connection.execute(soonest).scalar(),
    )


def delete_scheduled(connection: Connection, message_key: str) -> bool:
    """Remove a scheduled message with its jobs while none of it is due; False when it is too late.

    Locks: the scheduled row, then its jobs by id; a dispatcher that has claimed one of them has won.
    """
    mine = select(s.c.id).where(s.c.id == message_key, s.c.deliverAt > now()).with_for_update()
    if connection.execute(mine).first() is None:
        return False
    rows = connection.execute(
        select(job.c.id, job.c.status).where(job.c.messageId == message_key).with_for_update()
    ).all()
    if any(row.status != JobStatus.QUEUED for row in rows):
        return False
    for row in sorted(rows):
        connection.execute(delete(job).where(job.c.id == row.id))
    connection.execute(delete(s).where(s.c.id == message_key))
    connection.execute(delete(t).where(t.c.id == message_key))
    return True


def _with_status(query: AnySelect, status: MessageStatus | None) -> AnySelect:
    if status is MessageStatus.ACKNOWLEDGED:
        return query.where(t.c.deliverAt > now())
    return query.where(t.c.deliverAt <= now()) if status is MessageStatus.DISPATCHED else query


def _stored(row: AnyRow) -> StoredMessage:
    return StoredMessage(
        key=row.id,
        message_id=row.messageId,
        payload=bytes(row.payload),
        content_type=row.contentType,
        produced_by=row.producedBy,
        headers=json.loads(row.headers) if row.headers else {},
        metadata=json.loads(row.metadata) if row.metadata else None,
        overrides=json.loads(row.overrides) if row.overrides else None,
        priority=row.priority,
        received_at=row.receivedAt,
        deliver_at=row.deliverAt,
        expires_at=row.expiresAt,
        hop_count=row.hopCount,
        scheduled=row.scheduledId is not None,
        read_at=row.readAt,
    )
