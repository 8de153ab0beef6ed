"""What operators do to jobs, on rows that are locked by primary key, the lowest id first."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from broker.domain.states import DeadReason, JobStatus
from broker.store.bulk import time_text
from broker.store.moments import SqlTime, as_time, by_key, quoted, run
from broker.store.removing import IDS_PER_STATEMENT, remove
from broker.store.tables import consumer, job, job_event, job_expiry, job_origin, lease
from broker.store.types import now

SETTING = {
    JobStatus.QUEUED: "earliestNextAttemptAt = {now}, retryAttemptCount = 0, replayCount = replayCount + 1,"
    " deadAt = NULL, deadReason = NULL, outcome = NULL,"
    " expiresAt = CASE WHEN expiresAt <= {now} THEN NULL ELSE expiresAt END",
    JobStatus.ARCHIVED: "deadAt = NULL",
    JobStatus.DELIVERED: "earliestNextAttemptAt = NULL, deadAt = NULL, deadReason = NULL, outcome = 'ok'",
}


class Locked(NamedTuple):
    """A locked job as an operator's act finds it."""

    id: str
    consumer_key: int
    status: JobStatus
    status_changed_at: datetime
    expires_at: datetime | None
    lease_token: str | None
    retries_made: int
    message_key: str
    dead_reason: str | None
    applied_max_retries: int | None


def consumers_of(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """Whose jobs they are, without those of deleted consumers; a job never changes hands. Primary keys."""
    found: dict[str, int] = {}
    for chunk in _chunks(ids):
        query = (
            select(job.c.id, job.c.consumerId)
            .prefix_with("STRAIGHT_JOIN", dialect="mysql")
            .join(consumer, consumer.c.id == job.c.consumerId)
            .where(job.c.id.in_(chunk), consumer.c.consumerId.is_not(None))
            .with_hint(job, "FORCE INDEX (PRIMARY)", "mysql")
        )
        found.update({row.id: row.consumerId for row in connection.execute(query)})
    return found


def lock(connection: Connection, ids: Sequence[str]) -> list[Locked]:
    """Lock jobs in whatever status, lowest id first. Primary key."""
    update = "" if connection.dialect.name == "sqlite" else "FOR UPDATE"
    found: list[Locked] = []
    for chunk in _chunks(sorted(ids)):
        statement = (
            "SELECT id, consumerId, status, statusChangedAt, expiresAt, leaseToken, retryAttemptCount, messageId,"
            " deadReason, appliedMaxRetries"
            f" FROM {by_key(connection)} WHERE id IN ({quoted(chunk)}) ORDER BY id {update}"
        )
        found += [_locked(*row) for row in connection.exec_driver_sql(statement)]
    return found


def valid_leases(connection: Connection, tokens: Sequence[str]) -> set[str]:
    """Which of these leases have not ended. Primary key."""
    found: set[str] = set()
    for chunk in _chunks(tokens):
        query = select(lease.c.token).where(lease.c.token.in_(chunk), lease.c.expiresAt > now())
        found.update(connection.execute(query.with_hint(lease, "FORCE INDEX (PRIMARY)", "mysql")).scalars())
    return found


def become(connection: Connection, time: SqlTime, ids: Sequence[str], status: JobStatus) -> None:
    """Bring locked jobs into a status by hand; whoever held a lease has lost it. Primary key."""
    setting = SETTING[status].format(now=time.now)
    for chunk in _chunks(ids):
        run(
            connection,
            f"UPDATE {by_key(connection)} SET status = {int(status)}, statusChangedAt = {time.now}, leaseToken = NULL,"
            f" {setting} WHERE id IN ({quoted(chunk)})",
        )


def kill(connection: Connection, died_at: datetime, ids: Sequence[str], max_retries: int) -> None:
    """Let locked jobs die by an operator's will; whoever held a lease has lost it. Primary key."""
    died = f"'{time_text(died_at)}'"
    for chunk in _chunks(ids):
        run(
            connection,
            f"UPDATE {by_key(connection)} SET status = {int(JobStatus.DEAD)}, statusChangedAt = {died},"
            f" deadAt = {died}, deadReason = '{DeadReason.FORCED.value}', leaseToken = NULL,"
            f" earliestNextAttemptAt = NULL, appliedMaxRetries = {int(max_retries)} WHERE id IN ({quoted(chunk)})",
        )


def is_due(connection: Connection, time: SqlTime, job_id: str) -> bool:
    """Whether a waiting job may be taken now, is not parked, and has not expired. Primary key."""
    statement = (
        f"SELECT 1 FROM job WHERE id = {quoted([job_id])} AND earliestNextAttemptAt <= {time.now}"
        f" AND deadReason IS NULL AND (expiresAt IS NULL OR expiresAt > {time.now})"
    )
    return connection.exec_driver_sql(statement).first() is not None


def remember_timeout(connection: Connection, job_id: str, seconds: int) -> None:
    """The time that a client asked for beyond the usual lease. Primary key."""
    run(connection, f"UPDATE job SET incrementalTimeout = {int(seconds)} WHERE id = {quoted([job_id])}")


def expect_expiry(connection: Connection, time: SqlTime, jobs: Sequence[Locked]) -> None:
    """Jobs that wait again and can still expire are listed for it, once. Primary key."""
    for one in jobs:
        if one.expires_at is not None and one.expires_at > time.moment:
            row = insert(job_expiry).values(expiresAt=one.expires_at, jobId=one.id)
            row = row.prefix_with("IGNORE", dialect="mysql").prefix_with("OR IGNORE", dialect="sqlite")
            connection.execute(row)


def drop(connection: Connection, jobs: Sequence[Locked]) -> None:
    """Remove locked jobs with all that hangs on them. Primary keys."""
    ids = [one.id for one in jobs]
    for one in jobs:
        if one.expires_at is not None:
            mine = (job_expiry.c.expiresAt == one.expires_at, job_expiry.c.jobId == one.id)
            connection.execute(delete(job_expiry).where(*mine))
    for table, column in ((job_event, "jobId"), (job_origin, "jobId"), (job, "id")):
        remove(connection, table, column, ids)


def _chunks(ids: Sequence[str]) -> Iterator[list[str]]:
    return (list(ids[at : at + IDS_PER_STATEMENT]) for at in range(0, len(ids), IDS_PER_STATEMENT))


def _locked(job_id: str, key: int, status: int, changed: datetime, expires: datetime | None, *rest: Any) -> Locked:
    expires_at = None if expires is None else as_time(expires)
    return Locked(job_id, key, JobStatus(status), as_time(changed), expires_at, *rest)
