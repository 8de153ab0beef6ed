"""Jobs that must not outlive a moment: listed apart, so that jobs without one cost nothing."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from broker.store.bulk import BulkInsert, time_text
from broker.store.moments import SqlTime, as_time, by_key, quoted, run
from broker.store.tables import job_expiry

_insert = BulkInsert(job_expiry, ("expiresAt", "jobId"))
_WANTED = "expiresAt DATETIME(6) PATH '$[0]', jobId CHAR(20) CHARACTER SET ascii COLLATE ascii_bin PATH '$[1]'"


class Entry(NamedTuple):
    """When a job is to be looked at; a job may have several."""

    expires_at: datetime
    job_id: str


class Expiring(NamedTuple):
    """A job whose time has come, and what it is doing."""

    job_id: str
    status: int | None
    consumer_key: int | None


def overdue(connection: Connection, time: SqlTime, limit: int) -> list[Entry]:
    """Lock the entries whose time has come, passing over another's. Primary key."""
    sqlite = connection.dialect.name == "sqlite"
    statement = (
        f"SELECT expiresAt, jobId FROM {by_key(connection, 'job_expiry')} WHERE expiresAt <= {time.now}"
        f" ORDER BY expiresAt, jobId LIMIT {int(limit)} {'' if sqlite else 'FOR UPDATE SKIP LOCKED'}"
    )
    return [Entry(as_time(row[0]), row[1]) for row in connection.exec_driver_sql(statement)]


def look_at(connection: Connection, ids: Sequence[str]) -> list[Expiring]:
    """Where these jobs stand. Primary key."""
    statement = f"SELECT id, status, consumerId FROM {by_key(connection)} WHERE id IN ({quoted(ids)})"
    found = {row[0]: Expiring._make(row) for row in connection.exec_driver_sql(statement)}
    return [found.get(one, Expiring(one, None, None)) for one in ids]


def forget(connection: Connection, entries: Sequence[Entry]) -> None:
    """They are dealt with. Primary key, joined from the list: a range would wait for what others have locked."""
    pairs = [(time_text(one.expires_at), one.job_id) for one in entries]
    if not pairs:
        return
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("DELETE FROM job_expiry WHERE expiresAt = ? AND jobId = ?", pairs)
        return
    listed = json.dumps(pairs).encode().hex()
    run(
        connection,
        f"DELETE job_expiry FROM JSON_TABLE(CONVERT(x'{listed}' USING utf8mb4), '$[*]' COLUMNS ({_WANTED})) AS wanted"
        " STRAIGHT_JOIN job_expiry ON job_expiry.expiresAt = wanted.expiresAt AND job_expiry.jobId = wanted.jobId",
    )


def postpone(connection: Connection, time: SqlTime, entries: Sequence[Entry], seconds: float) -> None:
    """Look again later: they are being worked on now."""
    forget(connection, entries)
    later = time.moment_after(seconds)
    if entries:
        _insert(connection, [(later, one) for one in sorted({entry.job_id for entry in entries})])
