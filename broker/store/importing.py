"""Jobs that are brought in from elsewhere come into being here, in one transaction."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from broker.domain.states import DeadReason, JobStatus
from broker.store import publishing, summary
from broker.store.bulk import BulkInsert
from broker.store.publishing import JobRow
from broker.store.removing import IDS_PER_STATEMENT
from broker.store.tables import job, job_event
from broker.store.tables import job_origin as origin

_insert_events = BulkInsert(
    job_event, ("jobId", "id", "happenedAt", "event", "actor", "errorType", "errorCategory", "detail")
)
_insert_dead = BulkInsert(
    job,
    ("id", "messageId", "consumerId", "priority", "status", "createdAt", "expiresAt", "retryAttemptCount",
     "replayCount", "deadReason", "errorType", "errorCategory", "errorText", "errorFingerprint", "statusChangedAt",
     "deadAt"),
)  # fmt: skip


class OriginRow(NamedTuple):
    """Where a job was before; ids of channel and consumer that nobody knows are empty."""

    job_id: str
    consumer_key: int
    source_job_id: str
    channel_id: str
    consumer_id: str
    error_type: str | None
    error_text: str | None
    failed_at: datetime
    retry_count: int
    message_id: str | None


class EventRow(NamedTuple):
    """A line of a job's history."""

    job_id: str
    id: str
    at: datetime
    event: str
    actor: str
    error_type: str | None = None
    error_category: str | None = None
    detail: str | None = None


class DeadRow(NamedTuple):
    """A job that is dead from the start."""

    job: JobRow
    reason: DeadReason
    retries_made: int
    error_type: str | None
    error_category: str | None
    error_text: str | None
    fingerprint: str | None

    def values(self, died_at: datetime) -> tuple[Any, ...]:
        """As they are inserted, with the stamp of their death."""
        one, m = self.job, self.job.message
        return (one.id, m.id, one.consumer_key, m.priority, JobStatus.DEAD, m.received_at, one.expires_at,
                self.retries_made, 0, self.reason, *self[3:], died_at, died_at)  # fmt: skip


class ImportRows(NamedTuple):
    """All that is written in one transaction."""

    queued: Sequence[JobRow]
    dead: Sequence[DeadRow]
    origins: Sequence[OriginRow]
    events: Sequence[EventRow]


def known_sources(connection: Connection, consumer_key: int, sources: Iterable[str]) -> dict[str, str]:
    """Which of these jobs a consumer has: brought in, with the ids they got, or being its own. Indexes:
    job_origin_source, primary key."""
    found: dict[str, str] = {}
    for chunk in _chunks(sorted(set(sources))):
        own = select(job.c.id).where(job.c.id.in_(chunk), job.c.consumerId == consumer_key)
        own = own.with_hint(job, "FORCE INDEX (PRIMARY)", "mysql")
        found.update({one: one for one in connection.execute(own).scalars()})
        mine = (origin.c.consumerId == consumer_key, origin.c.sourceJobId.in_(chunk))
        brought = select(origin.c.sourceJobId, origin.c.jobId).where(*mine)
        brought = brought.with_hint(origin, "FORCE INDEX (job_origin_source)", "mysql")
        found.update({row.sourceJobId: row.jobId for row in connection.execute(brought)})
    return found


def stored(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Which of these jobs there are. Primary key."""
    found: set[str] = set()
    for chunk in _chunks(ids):
        query = select(job.c.id).where(job.c.id.in_(chunk)).with_hint(job, "FORCE INDEX (PRIMARY)", "mysql")
        found.update(connection.execute(query).scalars())
    return found


def insert_imported(connection: Connection, rows: ImportRows, settle: float) -> None:
    """Store jobs with their messages, origins and histories. Raises Duplicate when a job or its source is there;
    then nothing is stored. What is dead is written last, with nothing slow behind its stamp."""
    _insert_origins(connection, rows.origins)
    messages = [one.message for one in rows.queued] + [one.job.message for one in rows.dead]
    publishing.insert(connection, messages, rows.queued, settle)
    _insert_events(connection, rows.events)
    if rows.dead:
        with summary.stamped(connection, {one.job.consumer_key for one in rows.dead}, settle) as died_at:
            _insert_dead(connection, [one.values(died_at) for one in rows.dead])


def _insert_origins(connection: Connection, rows: Sequence[OriginRow]) -> None:
    """Sources may be ids that no broker of this kind made. They are the first to be written, in their order, so that
    who brings in the same at the same time waits, and does not block."""
    names = ("jobId", "consumerId", "sourceJobId", "sourceChannelId", "sourceConsumerId", "errorType", "errorText",
             "failedAt", "retryCount", "sourceMessageId")  # fmt: skip
    values = [dict(zip(names, row, strict=True)) for row in sorted(rows, key=lambda one: one.source_job_id)]
    if values:
        connection.execute(insert(origin), values)


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[at : at + IDS_PER_STATEMENT] for at in range(0, len(ids), IDS_PER_STATEMENT))
