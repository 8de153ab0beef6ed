"""Pages of a consumer's dead that meet conditions. A page costs as much as its rows, or as EXAMINED entries."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import Connection, select, text

from broker.domain.dead_selection import DeadFilter
from broker.domain.pages import Cursor, Key, Page
from broker.domain.states import JobStatus
from broker.store import job_pages
from broker.store.dead_ranges import condition_of
from broker.store.job_ranges import Entry, Range
from broker.store.jobs import StoredJobFull
from broker.store.paging import Order, fetch_rows
from broker.store.tables import job

NO_CONDITION = "1 = 1"


def page(
    connection: Connection,
    consumer_key: int,
    wanted: DeadFilter,
    newest_first: bool,
    cursor: Cursor | None,
    limit: int,
) -> Page[StoredJobFull]:
    """By the time of death. The dead that meet the conditions have their status, the others none."""
    condition, _ = condition_of(wanted, deletable_only=False)
    status = None if condition == NO_CONDITION else JobStatus.DEAD
    ranges = [_dead(connection, consumer_key, wanted, newest_first)]
    return job_pages.page_of(connection, ranges, status, cursor, limit)


def key_of(job: StoredJobFull) -> Key:
    """Where a dead job stands in such a list."""
    return (0, cast(datetime, job.dead_at), job.id)


def _dead(connection: Connection, key: int, wanted: DeadFilter, newest_first: bool) -> Range:
    """Index: job_dead, covering; the rows too, where conditions ask for more than the time of death."""
    order = Order((job.c.deadAt, job.c.id), descending=newest_first, within=(job.c.consumerId, key))
    condition, params = condition_of(wanted, deletable_only=False)
    status = text(f"CASE WHEN {condition} THEN {int(JobStatus.DEAD)} END AS found").bindparams(**params)
    bounds = [] if wanted.died_after is None else [job.c.deadAt >= wanted.died_after]
    bounds += [] if wanted.died_before is None else [job.c.deadAt <= wanted.died_before]
    query = select(job.c.deadAt, job.c.id, status).where(job.c.deadAt.is_not(None), *bounds)
    query = query.with_hint(job, "FORCE INDEX (job_dead)", "mysql")

    def fetch(beyond: Entry | None, backwards: bool, limit: int) -> Sequence[Entry]:
        after = None if beyond is None else beyond[:2]
        return [Entry(*row) for row in fetch_rows(connection, query, order, after, backwards, limit)]

    return fetch
