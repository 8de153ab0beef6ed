"""What became of leased jobs, written by primary key and lease token; a token that is old finds nothing."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from broker.domain.failures import Outcome
from broker.domain.states import JobStatus
from broker.store.bulk import BulkInsert, time_text
from broker.store.moments import SqlTime, as_time, by_key, quoted, run
from broker.store.tables import job_event

_insert_events = BulkInsert(
    job_event, ("jobId", "id", "happenedAt", "event", "actor", "errorType", "errorCategory", "detail")
)
_COLUMNS = ("status", "retryAttemptCount", "deadReason", "appliedPolicy", "appliedMaxRetries", "errorType",
            "errorCategory", "errorText", "errorFingerprint")  # fmt: skip
_TYPES = ("SMALLINT", "SMALLINT", "VARCHAR(20) CHARACTER SET ascii", "VARCHAR(12) CHARACTER SET ascii", "SMALLINT",
          "VARCHAR(64) CHARACTER SET ascii", "VARCHAR(12) CHARACTER SET ascii", "VARCHAR(1000) CHARACTER SET utf8mb4",
          "VARCHAR(32) CHARACTER SET ascii")  # fmt: skip
_WANTED = ", ".join(
    ["id CHAR(20) CHARACTER SET ascii COLLATE ascii_bin PATH '$[0]'", "delay BIGINT PATH '$[1]'"]
    + [f"{name} {kind} PATH '$[{at}]'" for at, (name, kind) in enumerate(zip(_COLUMNS, _TYPES, strict=True), 2)]
)


class Held(NamedTuple):
    """A locked job as its failure finds it; the errors are those of its last failure."""

    id: str
    consumer_key: int
    message_key: str
    retries_made: int
    expires_at: datetime | None
    lease_token: str | None
    dead_reason: str | None
    error_type: str | None
    error_category: str | None
    error_text: str | None


class Change(NamedTuple):
    """What a failure writes on a job: it waits again, `delay` seconds long, or it is dead (delay None).

    A job that waits and has a dead reason is parked: it dies when there is room.
    """

    id: str
    delay: float | None
    retries_made: int
    dead_reason: str | None
    policy: str
    max_retries: int
    error_type: str
    category: str
    text: str
    fingerprint: str

    def _values(self) -> list[Any]:
        status = JobStatus.DEAD if self.delay is None else JobStatus.QUEUED
        delay = None if self.delay is None else round(self.delay * 1e6)
        return [self.id, delay, int(status), *self[2:]]


class Event(NamedTuple):
    """One line of a job's history."""

    job_id: str
    id: str
    event: str
    actor: str
    error_type: str | None = None
    category: str | None = None
    detail: str | None = None


def deliver(connection: Connection, time: SqlTime, held: Mapping[str, Sequence[str]], outcome: Outcome) -> int:
    """Leased jobs, by their token, were answered; gives how many still belonged to their lease. Primary key."""
    theirs = [f"(id IN ({quoted(ids)}) AND leaseToken = {quoted([token])})" for token, ids in held.items()]
    return run(
        connection,
        f"UPDATE {by_key(connection)} SET status = {int(JobStatus.DELIVERED)}, statusChangedAt = {time.now},"
        f" outcome = '{outcome.value}', leaseToken = NULL WHERE ({' OR '.join(theirs)})"
        f" AND status = {int(JobStatus.INFLIGHT)}",
    )


def lock_held(connection: Connection, token_of: Mapping[str, str]) -> list[Held]:
    """Lock the jobs that still carry the token given for them."""
    found = lock_jobs(connection, list(token_of), JobStatus.INFLIGHT)
    return [one for one in found if one.lease_token == token_of[one.id]]


def lock_jobs(connection: Connection, ids: Sequence[str], status: JobStatus) -> list[Held]:
    """Lock the jobs that are in this status, lowest id first. Primary key."""
    if not ids:
        return []
    lock = "" if connection.dialect.name == "sqlite" else "FOR UPDATE"
    statement = (
        "SELECT id, consumerId, messageId, retryAttemptCount, expiresAt, leaseToken, deadReason, errorType,"
        f" errorCategory, errorText FROM {by_key(connection)}"
        f" WHERE id IN ({quoted(sorted(ids))}) AND status = {int(status)} ORDER BY id {lock}"
    )
    rows = connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
    return [Held._make((*row[:4], row[4] and as_time(row[4]), *row[5:])) for row in rows]


def message_overrides(connection: Connection, message_keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What messages set for themselves. Primary key."""
    if not message_keys:
        return {}
    statement = (
        f"SELECT id, overrides FROM {by_key(connection, 'message')}"
        f" WHERE id IN ({quoted(message_keys)}) AND overrides IS NOT NULL"
    )
    return {row[0]: json.loads(row[1]) for row in connection.exec_driver_sql(statement)}


def write_changes(
    connection: Connection, time: SqlTime, changes: Sequence[Change], died_at: datetime | None = None
) -> None:
    """Write failures on locked jobs, in one statement; deaths need their stamp. Primary key, joined from the list."""
    if not changes:
        return
    if connection.dialect.name == "sqlite":
        _write_one_by_one(connection, time, changes, died_at)
        return
    listed = json.dumps([change._values() for change in changes]).encode().hex()
    died = "NULL" if died_at is None else f"'{time_text(died_at)}'"
    run(
        connection,
        f"UPDATE JSON_TABLE(CONVERT(x'{listed}' USING utf8mb4), '$[*]' COLUMNS ({_WANTED})) AS wanted"
        " STRAIGHT_JOIN job ON job.id = wanted.id SET job.leaseToken = NULL,"
        f" job.statusChangedAt = IF(wanted.delay IS NULL, {died}, {time.now}),"
        f" job.earliestNextAttemptAt = {time.now} + INTERVAL wanted.delay MICROSECOND,"
        f" job.deadAt = IF(wanted.delay IS NULL, {died}, NULL), "
        + ", ".join(f"job.{name} = wanted.{name}" for name in _COLUMNS),
    )


def insert_events(connection: Connection, moment: datetime, events: Sequence[Event]) -> None:
    """Append to the history of jobs."""
    _insert_events(connection, [(e.job_id, e.id, moment, *e[2:]) for e in events])


def _write_one_by_one(
    connection: Connection, time: SqlTime, changes: Sequence[Change], died_at: datetime | None
) -> None:
    """SQLite runs many small statements in C."""
    setting = ", ".join(f"{name} = ?" for name in _COLUMNS)
    statement = (
        "UPDATE job SET statusChangedAt = ?, leaseToken = NULL, earliestNextAttemptAt = ?, deadAt = ?,"
        f" {setting} WHERE id = ?"
    )
    rows = []
    for change in changes:
        due, died = (None, died_at) if change.delay is None else (time.moment_after(change.delay), None)
        values = change._values()
        moments = [one and time_text(one) for one in (died or time.moment, due, died)]
        rows.append((*moments, *values[2:], change.id))
    connection.exec_driver_sql(statement, rows)
