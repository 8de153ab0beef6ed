"""How many jobs of a consumer have a status, counted up to a bound, so that asking never costs as much as they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from broker.domain.states import JobStatus
from broker.store.dead_tails import dead_index
from broker.store.job_ranges import SEVERAL_CONSUMERS
from broker.store.jobs import IDS_PER_STATEMENT
from broker.store.moments import as_time, by_key, quoted, split
from broker.store.tables import lease
from broker.store.types import AnyRow

CONSUMERS_PER_STATEMENT = 100
MOST_LEASED = 20_000
_PRIORITIES = ",".join(str(number) for number in range(10))
_FIGURES = "COUNT(*), MIN(statusChangedAt), MAX(statusChangedAt)"
_BEGINNING = "'1970-01-01 00:00:00'"


@dataclass(frozen=True, slots=True)
class Tally:
    """So many, the first and the last change among them; `exact` unless the bound was met."""

    count: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None
    exact: bool = True


def queued(connection: Connection, keys: Sequence[int], most: int) -> dict[int, Tally]:
    """Those that wait, up to `most` of each consumer. Index: job_due, ten ranges each; the rows for their times."""
    hint = "INDEXED BY job_due" if connection.dialect.name == "sqlite" else "FORCE INDEX (job_due)"
    part = (
        f"SELECT {{key}}, {_FIGURES} FROM (SELECT statusChangedAt FROM job {hint} WHERE consumerId = {{key}}"
        f" AND priority IN ({_PRIORITIES}) AND earliestNextAttemptAt > {_BEGINNING} LIMIT {int(most)}) AS waiting"
    )
    return {row[0]: _tally(row[1:], row[1] < most) for row in _union(connection, part, keys)}


def inflight(connection: Connection, keys: Sequence[int]) -> dict[int, Tally]:
    """Those in leases, up to MOST_LEASED over all. Index: lease_by_consumer; the jobs by primary key."""
    ids, exact = _leased(connection, keys)
    found = {key: Tally(exact=exact) for key in keys}
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        statement = (
            f"SELECT consumerId, {_FIGURES} FROM {by_key(connection)} WHERE id IN"
            f" ({quoted(ids[start : start + IDS_PER_STATEMENT])}) AND status = {int(JobStatus.INFLIGHT)}"
            " GROUP BY consumerId"
        )
        for key, *figures in connection.exec_driver_sql(statement):
            if key in found:
                found[key] = _sum(found[key], _tally(figures, exact))
    return found


def finished(connection: Connection, keys: Sequence[int], most: int) -> dict[int, dict[JobStatus, Tally]]:
    """Delivered and archived ones among the newest `most` of each consumer that are not dead. Index: job_dead."""
    part = (
        f"SELECT {{key}}, status, {_FIGURES} FROM (SELECT status, statusChangedAt FROM {dead_index(connection)}"
        f" WHERE consumerId = {{key}} AND deadAt IS NULL ORDER BY id DESC LIMIT {int(most)}) AS others GROUP BY status"
    )
    rows = [tuple(row) for row in _union(connection, part, keys)]
    exact = {key: sum(row[2] for row in rows if row[0] == key) < most for key in keys}
    wanted = (JobStatus.DELIVERED, JobStatus.ARCHIVED)
    found = {key: {status: Tally(exact=exact[key]) for status in wanted} for key in keys}
    for key, status, *figures in rows:
        if status in wanted:
            found[key][JobStatus(status)] = _tally(figures, exact[key])
    return found


def newest_deaths(connection: Connection, keys: Sequence[int]) -> Mapping[int, datetime]:
    """When the last of each consumer died. Index: job_dead, a dive each."""
    part = f"SELECT {{key}}, (SELECT MAX(deadAt) FROM job WHERE consumerId = {{key}} AND deadAt > {_BEGINNING})"
    return {row[0]: as_time(row[1]) for row in _union(connection, part, keys) if row[1] is not None}


def _leased(connection: Connection, keys: Sequence[int]) -> tuple[list[str], bool]:
    mine = lease.c.consumerId.in_((SEVERAL_CONSUMERS, *keys))
    query = select(lease.c.jobIds).where(mine).limit(MOST_LEASED)
    query = query.with_hint(lease, "FORCE INDEX (lease_by_consumer)", "mysql")
    ids = sorted({one for text in connection.execute(query).scalars() for one in split(text)})
    return ids[:MOST_LEASED], len(ids) < MOST_LEASED


def _union(connection: Connection, part: str, keys: Sequence[int]) -> Iterator[AnyRow]:
    """The same question about each consumer, many in a statement."""
    for at in range(0, len(keys), CONSUMERS_PER_STATEMENT):
        some = keys[at : at + CONSUMERS_PER_STATEMENT]
        yield from connection.exec_driver_sql(" UNION ALL ".join(part.format(key=int(key)) for key in some))


def _tally(figures: Sequence[object], exact: bool) -> Tally:
    count, oldest, newest = figures
    return Tally(int(count), _time(oldest), _time(newest), exact)  # type: ignore[call-overload]


def _time(value: object) -> datetime | None:
    return None if value is None else as_time(value)  # type: ignore[arg-type]


def _sum(one: Tally, other: Tally) -> Tally:
    oldest = [at for at in (one.oldest, other.oldest) if at is not None]
    newest = [at for at in (one.newest, other.newest) if at is not None]
    return Tally(one.count + other.count, min(oldest, default=None), max(newest, default=None), one.exact)
