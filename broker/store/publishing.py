"""Messages and their jobs come into being here, in one transaction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, func, or_, select

from broker.domain.registry import Overrides
from broker.domain.states import DeadReason, JobStatus
from broker.store import summary
from broker.store.bulk import BulkInsert
from broker.store.tables import channel, consumer, job, job_event, job_expiry, message, scheduled_message
from broker.store.types import AnyRow, now

_insert_messages = BulkInsert(
    message,
    ("id", "channelId", "producerId", "messageId", "payload", "contentType", "headers", "metadata", "priority",
     "receivedAt", "deliverAt", "expiresAt", "hopCount", "overrides"),
)  # fmt: skip
_insert_scheduled = BulkInsert(scheduled_message, ("id", "channelId", "deliverAt"))
_insert_jobs = BulkInsert(
    job,
    ("id", "messageId", "consumerId", "priority", "status", "statusChangedAt", "createdAt", "earliestNextAttemptAt",
     "deadAt", "expiresAt", "retryAttemptCount", "replayCount", "deadReason"),
)  # fmt: skip
_insert_expiries = BulkInsert(job_expiry, ("expiresAt", "jobId"))
_insert_events = BulkInsert(job_event, ("jobId", "id", "happenedAt", "event", "actor", "detail"))

_OPEN = (
    select(
        now().label("now"),
        channel.c.id,
        channel.c.settings,
        consumer.c.id.label("target"),
        consumer.c.settings.label("targetSettings"),
    )
    .outerjoin(consumer, and_(consumer.c.channelId == channel.c.id, func.length(consumer.c.consumerId) > 0))
    .where(channel.c.id.in_(bindparam("keys", expanding=True)), channel.c.channelId.is_not(None))
    .with_for_update(read=True)
)


@dataclass(frozen=True, slots=True)
class Target:
    """A consumer that a message is fanned out to."""

    key: int
    overrides: Overrides


@dataclass(frozen=True, slots=True)
class OpenChannel:
    """A channel as it stands in this transaction: nobody changes its consumers before the commit."""

    overrides: Overrides
    targets: Sequence[Target]


def open_channels(connection: Connection, keys: Iterable[int]) -> tuple[datetime, dict[int, OpenChannel]]:
    """The database's time, and the channels that still exist with their consumers, share-locked.

    Locks: channel rows by primary key, then their consumers by consumer_public. Registry changes take the channel
    row exclusively, so a consumer that was created is never left out and one that was deleted never gets a job.
    IS NOT NULL would make a range of it, whose end locks a consumer of the next channel too; the length does not.
    """
    rows = connection.execute(_OPEN, {"keys": sorted(keys)}).all()
    if not rows:
        return _clock(connection), {}
    return rows[0].now, _opened(rows)


def existing(connection: Connection, wanted: Iterable[tuple[int, str]]) -> dict[tuple[int, str], str]:
    """Which (channel, messageId) are taken, and by which id. Index: message_public."""
    clauses = [and_(message.c.channelId == key, message.c.messageId == name) for key, name in sorted(set(wanted))]
    taken: dict[tuple[int, str], str] = {}
    for start in range(0, len(clauses), 150):
        query = select(message.c.channelId, message.c.messageId, message.c.id).where(or_(*clauses[start : start + 150]))
        taken.update({(row.channelId, row.messageId): row.id for row in connection.execute(query)})
    return taken


class MessageRow(NamedTuple):
    """A message ready to be stored."""

    id: str
    channel_key: int
    producer_key: int
    message_id: str
    payload: bytes
    content_type: str
    headers: Mapping[str, str] | None
    metadata: Mapping[str, object] | None
    priority: int
    received_at: datetime
    deliver_at: datetime
    expires_at: datetime | None
    hop_count: int
    scheduled: bool
    overrides: Overrides | None


class JobRow(NamedTuple):
    """A job ready to be stored: queued, dead from the start, or parked until the engine settles its death."""

    id: str
    message: MessageRow
    consumer_key: int
    expires_at: datetime | None
    dead_reason: DeadReason | None
    stays: bool = True

    @property
    def is_dead(self) -> bool:
        """From the start, and here."""
        return self.dead_reason is not None and self.stays


def insert(connection: Connection, messages: Sequence[MessageRow], jobs: Sequence[JobRow], settle: float) -> None:
    """Store messages with their jobs. Raises Duplicate when one of the ids is taken; then nothing is stored."""
    _insert_messages(connection, [_message_values(m) for m in messages])
    _insert_scheduled(connection, [(m.id, m.channel_key, m.deliver_at) for m in messages if m.scheduled])
    _insert_jobs(connection, [_job_values(j) for j in jobs if not j.is_dead])
    _insert_expiries(connection, [(j.expires_at, j.id) for j in jobs if j.expires_at and not j.dead_reason])
    _insert_dead(connection, [j for j in jobs if j.is_dead], settle)


def _insert_dead(connection: Connection, jobs: Sequence[JobRow], settle: float) -> None:
    if not jobs:
        return
    _insert_events(connection, [_death_values(j) for j in jobs])
    with summary.stamped(connection, {j.consumer_key for j in jobs}, settle) as died_at:
        _insert_jobs(connection, [_job_values(j, died_at) for j in jobs])


def _opened(rows: Sequence[AnyRow]) -> dict[int, OpenChannel]:
    """Consumers in the order of their making, whichever order the database's plan found them in."""
    opened: dict[int, OpenChannel] = {}
    targets: dict[int, list[Target]] = {}
    for row in sorted(rows, key=lambda row: row.target or 0):
        mine = targets.setdefault(row.id, [])
        if row.target is not None:
            mine.append(Target(row.target, json.loads(row.targetSettings)))
        if row.id not in opened:
            opened[row.id] = OpenChannel(json.loads(row.settings), mine)
    return opened


def _clock(connection: Connection) -> datetime:
    return connection.execute(select(now())).scalar_one()


def _message_values(m: MessageRow) -> tuple[Any, ...]:
    headers = None if m.headers is None else json.dumps(dict(m.headers), ensure_ascii=False)
    metadata = None if m.metadata is None else json.dumps(dict(m.metadata), ensure_ascii=False)
    overrides = None if m.overrides is None else json.dumps(dict(m.overrides))
    return (m.id, m.channel_key, m.producer_key, m.message_id, m.payload, m.content_type, headers, metadata,
            m.priority, m.received_at, m.deliver_at, m.expires_at, m.hop_count, overrides)  # fmt: skip


def _job_values(j: JobRow, died_at: datetime | None = None) -> tuple[Any, ...]:
    m = j.message
    status, due = (JobStatus.QUEUED, m.deliver_at) if died_at is None else (JobStatus.DEAD, None)
    return (j.id, m.id, j.consumer_key, m.priority, status, died_at or m.received_at, m.received_at, due, died_at,
            j.expires_at, 0, 0, j.dead_reason)  # fmt: skip


def _death_values(j: JobRow) -> tuple[Any, ...]:
    return (j.id, j.id, j.message.received_at, "died", "broker", j.dead_reason)
