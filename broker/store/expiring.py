"""Jobs that must not outlive a moment: listed apart, so that jobs without one cost nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from broker.store.moments import SqlTime, by_key, quoted, run


class Expiring(NamedTuple):
    """A job whose time has come, and what it is doing."""

    job_id: str
    status: int | None
    consumer_key: int | None


def overdue(connection: Connection, time: SqlTime, limit: int) -> list[str]:
    """Lock the entries whose time has come, passing over another's. Primary key."""
    sqlite = connection.dialect.name == "sqlite"
    statement = (
        f"SELECT jobId FROM {by_key(connection, 'job_expiry')} WHERE expiresAt <= {time.now}"
        f" ORDER BY expiresAt, jobId LIMIT {int(limit)} {'' if sqlite else 'FOR UPDATE SKIP LOCKED'}"
    )
    return [row[0] for row in connection.exec_driver_sql(statement)]


def look_at(connection: Connection, ids: Sequence[str]) -> list[Expiring]:
    """Where these jobs stand. Primary key."""
    statement = f"SELECT id, status, consumerId FROM {by_key(connection)} WHERE id IN ({quoted(ids)})"
    found = {row[0]: Expiring._make(row) for row in connection.exec_driver_sql(statement)}
    return [found.get(one, Expiring(one, None, None)) for one in ids]


def forget(connection: Connection, time: SqlTime, ids: Sequence[str]) -> None:
    """Their time has come and they are dealt with. Primary key, by its first part."""
    if ids:
        run(connection, f"DELETE FROM job_expiry WHERE expiresAt <= {time.now} AND jobId IN ({quoted(ids)})")


def postpone(connection: Connection, time: SqlTime, ids: Sequence[str], seconds: float) -> None:
    """Look again later: they are being worked on now."""
    if ids:
        run(
            connection,
            f"UPDATE job_expiry SET expiresAt = {time.after(seconds)}"
            f" WHERE expiresAt <= {time.now} AND jobId IN ({quoted(ids)})",
        )
