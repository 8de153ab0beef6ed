"""The ranges of indexes that hold a consumer's jobs, each read a step at a time in either direction."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from broker.domain.states import JobFilter, JobStatus
from broker.store.jobs import IDS_PER_STATEMENT
from broker.store.moments import split
from broker.store.paging import Order, fetch_rows
from broker.store.tables import job, lease
from broker.store.types import AnySelect

SEVERAL_CONSUMERS = 0
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)


class Entry(NamedTuple):
    """An entry of a range: its time where it is ordered by one, its job, and that job's status where it matters."""

    at: datetime
    job_id: str
    status: int | None = None


Range = Callable[[Entry | None, bool, int], Sequence[Entry]]


def ranges_of(connection: Connection, key: int, wanted: JobFilter) -> list[Range]:
    """One after the other they hold what is wanted, and perhaps more; all: those that are not dead, then the dead."""
    if wanted is JobFilter.QUEUED:
        return [_waiting(connection, key, priority) for priority in range(9, -1, -1)]
    if wanted is JobFilter.INFLIGHT:
        return [_leased(connection, key)]
    if wanted is JobFilter.DEAD:
        return [_dead(connection, key)]
    return [_not_dead(connection, key), *([_dead(connection, key)] if wanted is JobFilter.ALL else [])]


def _waiting(connection: Connection, key: int, priority: int) -> Range:
    """One lane. Index: job_due, covering."""
    order = Order(
        (job.c.earliestNextAttemptAt, job.c.id),
        descending=False,
        within=(job.c.consumerId, key),
        also=((job.c.priority, priority),),
    )
    query = select(job.c.earliestNextAttemptAt, job.c.id).where(job.c.earliestNextAttemptAt.is_not(None))
    return _index_range(connection, query.with_hint(job, "FORCE INDEX (job_due)", "mysql"), order)


def _dead(connection: Connection, key: int) -> Range:
    """The dead, newest death first. Index: job_dead, covering."""
    order = Order((job.c.deadAt, job.c.id), within=(job.c.consumerId, key))
    query = select(job.c.deadAt, job.c.id).where(job.c.deadAt.is_not(None))
    return _index_range(connection, query.with_hint(job, "FORCE INDEX (job_dead)", "mysql"), order)


def _not_dead(connection: Connection, key: int) -> Range:
    """All others, newest first. Index: job_dead, and the rows for their status."""
    order = Order((job.c.id,), within=(job.c.consumerId, key), also=((job.c.deadAt, None),))
    query = select(job.c.id, job.c.status).with_hint(job, "FORCE INDEX (job_dead)", "mysql")

    def fetch(beyond: Entry | None, backwards: bool, limit: int) -> list[Entry]:
        after = None if beyond is None else (beyond.job_id,)
        rows = fetch_rows(connection, query, order, after, backwards, limit)
        return [Entry(_NO_TIME, row.id, row.status) for row in rows]

    return fetch


def _index_range(connection: Connection, query: AnySelect, order: Order) -> Range:
    def fetch(beyond: Entry | None, backwards: bool, limit: int) -> list[Entry]:
        after = None if beyond is None else beyond[:2]
        return [Entry(*row) for row in fetch_rows(connection, query, order, after, backwards, limit)]

    return fetch


def _leased(connection: Connection, key: int) -> Range:
    """What is in leases, newest first. Index: lease_by_consumer; the jobs by primary key."""
    listed = select(lease.c.jobIds).where(lease.c.consumerId.in_((key, SEVERAL_CONSUMERS)))
    listed = listed.with_hint(lease, "FORCE INDEX (lease_by_consumer)", "mysql")
    ids = sorted({one for text in connection.execute(listed).scalars() for one in split(text)})

    def fetch(beyond: Entry | None, backwards: bool, limit: int) -> list[Entry]:
        after = "" if beyond is None else beyond.job_id
        rest = [one for one in ids if one > after] if backwards else ids[::-1]
        rest = rest if backwards or beyond is None else [one for one in rest if one < after]
        return _checked(connection, key, rest[:limit])

    return fetch


def _checked(connection: Connection, key: int, ids: Sequence[str]) -> list[Entry]:
    """Each with INFLIGHT if it still is, and the consumer's. Primary key."""
    held: set[str] = set()
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        query = select(job.c.id).where(
            job.c.id.in_(ids[start : start + IDS_PER_STATEMENT]),
            job.c.consumerId == key,
            job.c.status == JobStatus.INFLIGHT,
        )
        held.update(connection.execute(query.with_hint(job, "FORCE INDEX (PRIMARY)", "mysql")).scalars())
    return [Entry(_NO_TIME, one, JobStatus.INFLIGHT if one in held else None) for one in ids]
