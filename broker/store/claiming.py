"""Jobs are claimed here: ids only, one lane a statement, and nobody waits for another's lock."""

from collections.abc import Sequence

from sqlalchemy import Connection

from broker.domain.states import JobStatus
from broker.domain.work import SMALL_PAYLOAD, ClaimedJob
from broker.store.moments import SqlTime, by_key, joined, quoted, run

SEVERAL_CONSUMERS = 0


def due_ids(
    connection: Connection, time: SqlTime, consumer_key: int, priority: int, limit: int, lock: bool = True
) -> list[str]:
    """The first jobs of a lane that are due; locked, and those that others have locked passed over: n ids lock n rows.

    Index: job_due.
    """
    sqlite = connection.dialect.name == "sqlite"
    statement = (
        f"SELECT id FROM job {'' if sqlite else 'FORCE INDEX (job_due)'}"
        f" WHERE consumerId = {int(consumer_key)} AND priority = {int(priority)}"
        f" AND earliestNextAttemptAt <= {time.now} ORDER BY earliestNextAttemptAt, id LIMIT {int(limit)}"
        f" {'' if sqlite or not lock else 'FOR UPDATE SKIP LOCKED'}"
    )
    return [row[0] for row in connection.exec_driver_sql(statement)]


def lease_jobs(
    connection: Connection, time: SqlTime, ids: Sequence[str], token: str, owner: str, seconds: float, consumer_key: int
) -> None:
    """Give locked jobs to an owner until the lease ends. Primary key."""
    run(
        connection,
        f"UPDATE {by_key(connection)} SET status = {int(JobStatus.INFLIGHT)}, statusChangedAt = {time.now},"
        f" earliestNextAttemptAt = NULL, leaseToken = {quoted([token])} WHERE id IN ({quoted(ids)})",
    )
    held_by = f"x'{owner.encode().hex()}'"
    held_by = f"CAST({held_by} AS TEXT)" if connection.dialect.name == "sqlite" else f"_utf8mb4 {held_by}"
    run(
        connection,
        "INSERT INTO lease (token, consumerId, owner, expiresAt, jobIds) VALUES"
        f" ({quoted([token])}, {int(consumer_key)}, {held_by}, {time.after(seconds)}, '{joined(ids)}')",
    )


def read_claimed(connection: Connection, time: SqlTime, ids: Sequence[str]) -> list[ClaimedJob]:
    """Jobs with their messages, in the order of the ids. Primary keys."""
    statement = (
        f"SELECT j.id, j.consumerId, j.retryAttemptCount, j.deadReason, COALESCE(j.expiresAt <= {time.now}, 0), m.id,"
        f" m.messageId, CASE WHEN LENGTH(m.payload) <= {SMALL_PAYLOAD} THEN m.payload END, LENGTH(m.payload),"
        " m.contentType, m.headers, m.overrides, j.priority, m.hopCount, j.incrementalTimeout"
        f" FROM {'job AS j' if connection.dialect.name == 'sqlite' else 'job AS j FORCE INDEX (PRIMARY)'}"
        f" JOIN message AS m ON m.id = j.messageId WHERE j.id IN ({quoted(ids)})"
    )
    rows = connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
    found = {row[0]: ClaimedJob._make(row) for row in rows}
    return [found[one] for one in ids if one in found]


def read_payload(connection: Connection, message_key: str) -> bytes | None:
    """A payload that was too large to be read ahead. Primary key."""
    statement = f"SELECT payload FROM message WHERE id = {quoted([message_key])}"
    found = connection.exec_driver_sql(statement).scalar()
    return None if found is None else bytes(found)
