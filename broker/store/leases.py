"""Claimed batches: renewed while their owner lives, removed with their last job, taken back when they end."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from broker.domain.states import JobStatus
from broker.store.moments import SqlTime, as_time, by_key, quoted, run, split


class Lease(NamedTuple):
    """A claimed batch."""

    token: str
    consumer_key: int
    expires_at: datetime
    job_ids: list[str]


def ended(connection: Connection, time: SqlTime, limit: int) -> list[Lease]:
    """Lock leases that have ended, oldest first, passing over those that another reaper holds. Index: lease_end."""
    sqlite = connection.dialect.name == "sqlite"
    statement = (
        f"SELECT token, consumerId, expiresAt, jobIds FROM lease {'' if sqlite else 'FORCE INDEX (lease_end)'}"
        f" WHERE expiresAt <= {time.now} ORDER BY expiresAt, token LIMIT {int(limit)}"
        f" {'' if sqlite else 'FOR UPDATE SKIP LOCKED'}"
    )
    return [_lease(*row) for row in connection.exec_driver_sql(statement)]


def held(connection: Connection, tokens: Sequence[str]) -> list[Lease]:
    """Lock these leases, as far as they are still there. Primary key."""
    if not tokens:
        return []
    lock = "" if connection.dialect.name == "sqlite" else "FOR UPDATE"
    statement = (
        f"SELECT token, consumerId, expiresAt, jobIds FROM {by_key(connection, 'lease')}"
        f" WHERE token IN ({quoted(tokens)}) ORDER BY token {lock}"
    )
    return [_lease(*row) for row in connection.exec_driver_sql(statement)]


def renew(connection: Connection, time: SqlTime, tokens: Sequence[str], seconds: float) -> None:
    """Let leases end so many seconds from now, unless they end later. Primary key."""
    until = time.after(seconds)
    run(
        connection,
        f"UPDATE {by_key(connection, 'lease')} SET expiresAt = {until}"
        f" WHERE token IN ({quoted(tokens)}) AND expiresAt < {until}",
    )


def remove(connection: Connection, tokens: Sequence[str]) -> None:
    """Leases whose jobs are all answered. Primary key."""
    for token in tokens:
        run(connection, f"DELETE FROM lease WHERE token = {quoted([token])}")


def still_in(connection: Connection, lease: Lease) -> list[str]:
    """The jobs that still belong to a lease. Primary key."""
    statement = (
        f"SELECT id FROM {by_key(connection)} WHERE id IN ({quoted(lease.job_ids)})"
        f" AND leaseToken = {quoted([lease.token])} AND status = {int(JobStatus.INFLIGHT)} ORDER BY id"
    )
    return [row[0] for row in connection.exec_driver_sql(statement)]


def give_back(connection: Connection, time: SqlTime, token: str, ids: Sequence[str], delay: float = 0.0) -> int:
    """Jobs that were not tried wait again, no attempt burnt; gives how many still belonged to the lease."""
    if not ids:
        return 0
    return run(
        connection,
        f"UPDATE {by_key(connection)} SET status = {int(JobStatus.QUEUED)}, statusChangedAt = {time.now},"
        f" earliestNextAttemptAt = {time.after(delay)}, leaseToken = NULL"
        f" WHERE id IN ({quoted(ids)}) AND leaseToken = {quoted([token])} AND status = {int(JobStatus.INFLIGHT)}",
    )


def _lease(token: str, consumer_key: int, expires_at: datetime | str, listed: str) -> Lease:
    return Lease(token, consumer_key, as_time(expires_at), split(listed))
