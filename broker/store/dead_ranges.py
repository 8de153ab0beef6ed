"""Stretches of a consumer's dead, as they lie in job_dead: found, then changed in a handful of statements.

Nothing passes through this process but the ends of a stretch. The summary row must be locked: then nobody else takes
dead jobs of the consumer away, and its checkpoint stands still. A stretch never lies on both sides of the checkpoint,
so that all of it is counted, or nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from broker.domain.dead_selection import DeadFilter
from broker.domain.states import DeadReason, JobStatus
from broker.store.bulk import time_text
from broker.store.dead_tails import dead_index
from broker.store.job_acts import SETTING
from broker.store.moments import SqlTime, as_time
from broker.store.removing import remove_with
from broker.store.summary import BEGINNING
from broker.store.types import AnyRow

DELETABLE = (
    f"(deadReason <> '{DeadReason.FORCED.value}' OR deadReason IS NULL"
    " OR (appliedMaxRetries >= 0 AND retryAttemptCount >= appliedMaxRetries))"
)
Params = dict[str, Any]


class Spot(NamedTuple):
    """Where in its consumer's dead a job lies."""

    died_at: datetime
    job_id: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many dead, after one spot and up to another; `condition` picks among them."""

    consumer_key: int
    after: Spot
    last: Spot
    length: int
    counted: bool
    condition: str
    params: Params

    def where(self) -> str:
        """Index: job_dead, one range."""
        return (
            "job.consumerId = :key AND job.deadAt >= :low AND job.deadAt <= :high"
            " AND (job.deadAt > :low OR (job.deadAt = :low AND job.id > :low_id))"
            " AND (job.deadAt < :high OR (job.deadAt = :high AND job.id <= :high_id))"
            f" AND {self.condition}"
        )

    def values(self, **more: object) -> Params:
        """What `where` needs, and more."""
        bounds = {"low": time_text(self.after.died_at), "low_id": self.after.job_id,
                  "high": time_text(self.last.died_at), "high_id": self.last.job_id}  # fmt: skip
        return {"key": self.consumer_key, **bounds, **self.params, **more}


def find(
    connection: Connection, consumer_key: int, after: Spot, until: datetime, checked_at: datetime, most: int
) -> tuple[Spot, int, bool] | None:
    """The end of the next stretch, its length, and whether it is counted; None when there is none. Index: job_dead."""
    if after.died_at <= checked_at:
        end = _end(connection, consumer_key, after, min(until, checked_at), most)
        if end is not None:
            return (*end, True)
    if until <= checked_at:
        return None
    end = _end(connection, consumer_key, max(after, Spot(checked_at, "~")), until, most)
    return None if end is None else (*end, False)


def _end(connection: Connection, consumer_key: int, after: Spot, until: datetime, most: int) -> tuple[Spot, int] | None:
    """One look where there are enough; what is left is counted first."""
    values = {"key": consumer_key, "low": time_text(after.died_at), "low_id": after.job_id, "high": time_text(until)}
    rest = (
        f"FROM {dead_index(connection)} WHERE consumerId = :key AND deadAt >= :low AND deadAt <= :high"
        " AND (deadAt > :low OR (deadAt = :low AND id > :low_id))"
    )
    nth = text(f"SELECT deadAt, id {rest} ORDER BY consumerId, deadAt, id LIMIT 1 OFFSET :before")
    row, length = connection.execute(nth, {**values, "before": most - 1}).first(), most
    if row is None:
        length = int(connection.execute(text(f"SELECT COUNT(*) {rest}"), values).scalar_one())
        row = connection.execute(nth, {**values, "before": length - 1}).first() if length else None
    return None if row is None else (Spot(as_time(row[0]), row[1]), length)


def cut(connection: Connection, stretch: Stretch, most: int) -> Stretch:
    """The stretch up to the last that may be taken, when more of it meet its condition. Index: job_dead."""
    nth = (
        f"SELECT job.deadAt, job.id FROM {dead_index(connection)} WHERE {stretch.where()}"
        " ORDER BY job.consumerId, job.deadAt, job.id LIMIT 1 OFFSET :before"
    )
    row = connection.execute(text(nth), stretch.values(before=most - 1)).first() if most < stretch.length else None
    if row is None:
        return stretch
    shorter = replace(stretch, last=Spot(as_time(row[0]), row[1]))
    return replace(shorter, length=count(connection, replace(shorter, condition="1 = 1", params={})))


def count(connection: Connection, stretch: Stretch) -> int:
    """How many of a stretch meet its condition. Index: job_dead."""
    statement = f"SELECT COUNT(*) FROM {dead_index(connection)} WHERE {stretch.where()}"
    return int(connection.execute(text(statement), stretch.values()).scalar_one())


def latest(connection: Connection, consumer_key: int) -> datetime | None:
    """When the last of a consumer's dead died: ahead of the clock, when a checkpoint was. Index: job_dead, one dive."""
    statement = f"SELECT MAX(deadAt) FROM {dead_index(connection)} WHERE consumerId = :key AND deadAt > '1970-01-01'"
    found = connection.execute(text(statement), {"key": consumer_key}).scalar()
    return None if found is None else as_time(found)


def condition_of(wanted: DeadFilter, deletable_only: bool) -> tuple[str, Params]:
    """What a filter asks of the rows of a stretch."""
    equal = {"errorCategory": wanted.category, "deadReason": wanted.reason, "errorType": wanted.error_type,
             "errorFingerprint": wanted.fingerprint}  # fmt: skip
    given = {name: str(value) for name, value in equal.items() if value is not None}
    clauses = [f"job.{name} = :{name}" for name in given]
    params: Params = dict(given)
    if wanted.text is not None:
        clauses.append("INSTR(job.errorText, :contains) > 0")
        params["contains"] = wanted.text
    return " AND ".join([*clauses, *([DELETABLE] if deletable_only else [])]) or "1 = 1", params


def rows(connection: Connection, stretch: Stretch) -> Sequence[AnyRow]:
    """The jobs of a stretch, locked: what moving them needs. Index: job_dead."""
    lock = "" if connection.dialect.name == "sqlite" else " FOR UPDATE"
    columns = "job.id, job.messageId, job.errorType, job.errorText, job.retryAttemptCount, job.deadAt"
    statement = f"SELECT {columns} FROM {dead_index(connection)} WHERE {stretch.where()} ORDER BY job.id{lock}"
    return connection.execute(text(statement), stretch.values()).all()


def delete(connection: Connection, stretch: Stretch) -> int:
    """Remove a stretch with history and origins; gives how many."""
    for table in ("job_event", *(("job_origin",) if _has_origins(connection, stretch.consumer_key) else ())):
        remove_with(connection, table, "jobId", dead_index(connection), stretch.where(), stretch.values())
    sqlite = connection.dialect.name == "sqlite"
    head = "DELETE FROM job" if sqlite else f"DELETE job FROM {dead_index(connection)}"
    return connection.execute(text(f"{head} WHERE {stretch.where()}"), stretch.values()).rowcount


def _has_origins(connection: Connection, consumer_key: int) -> bool:
    """Whether any job of a consumer came from another: who dies has had its origin since it is there. Asked from the
    end of job_origin_source, one dive, where the newest are that go last."""
    statement = text("SELECT MAX(sourceJobId) FROM job_origin WHERE consumerId = :key")
    return connection.execute(statement, {"key": consumer_key}).scalar() is not None


def change(connection: Connection, time: SqlTime, stretch: Stretch, status: JobStatus) -> int:
    """Bring a stretch into another status; gives how many. Those that wait again can expire again."""
    if status is JobStatus.QUEUED:
        _expect_expiry(connection, time, stretch)
    setting = SETTING[status].format(now=time.now)
    table = "job" if connection.dialect.name == "sqlite" else dead_index(connection)
    statement = (
        f"UPDATE {table} SET status = {int(status)}, statusChangedAt = {time.now}, leaseToken = NULL, {setting}"
        f" WHERE {stretch.where()}"
    )
    return connection.execute(text(statement), stretch.values()).rowcount


def clear(connection: Connection, stretch: Stretch) -> None:
    """All of a counted stretch went. If nothing before it is left, no dead are left up to its end: nobody dies where a
    checkpoint has counted. Primary key; job_dead, one moment."""
    statement = (
        "UPDATE dlq_summary SET cleared_to = :high WHERE consumerId = :key"
        f" AND COALESCE(cleared_to, '{time_text(BEGINNING)}') >= :low AND NOT EXISTS"
        f" (SELECT 1 FROM {dead_index(connection)} WHERE consumerId = :key AND deadAt = :low)"
    )
    connection.execute(text(statement), stretch.values())


def tell(connection: Connection, time: SqlTime, stretch: Stretch, event_id: str, event: str, actor: str) -> None:
    """One line in the history of every job of a stretch; an id must be unique for each job only."""
    statement = (
        "INSERT INTO job_event (jobId, id, happenedAt, event, actor, detail)"
        f" SELECT job.id, :event_id, {time.now}, :event, :actor, :detail FROM {dead_index(connection)}"
        f" WHERE {stretch.where()}"
    )
    more = {"event_id": event_id, "event": event, "actor": actor, "detail": "with all that were selected"}
    connection.execute(text(statement), stretch.values(**more))


def _expect_expiry(connection: Connection, time: SqlTime, stretch: Stretch) -> None:
    ignore = "OR IGNORE" if connection.dialect.name == "sqlite" else "IGNORE"
    statement = (
        f"INSERT {ignore} INTO job_expiry (expiresAt, jobId) SELECT job.expiresAt, job.id"
        f" FROM {dead_index(connection)} WHERE {stretch.where()} AND job.expiresAt > {time.now}"
    )
    connection.execute(text(statement), stretch.values())
