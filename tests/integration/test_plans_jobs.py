"""How the server answers the statements that read jobs and act on them, at three sizes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from sqlalchemy import Connection, select, text

from broker.domain.pages import Cursor
from broker.domain.states import JobFilter, JobStatus
from broker.store import job_acts, job_pages, jobs, summary
from broker.store.moments import SqlTime
from broker.store.tables import job
from tests.integration.plan_states import bring_into_states, lease_some
from tests.integration.plans import BUSY_CONSUMER, NOW, Filled, Plan
from tests.support.server import Server

LIMIT = 25
ONE_JOB = 12  # rows of a job with consumer, channel, message, producer, lease and origin
pytestmark = pytest.mark.xdist_group("plans jobs")


@pytest.fixture(scope="module", params=[10, 1000, 50_000])
def filled(request: pytest.FixtureRequest, server: Server) -> Iterator[Filled]:
    """A database of each size with jobs in every state."""
    url = server.create_database()
    made = Filled(url, request.param)
    made.database.write("states", bring_into_states)
    made.database.write("leases", lease_some)
    made.database.write("analyze", lambda c: c.execute(text("ANALYZE TABLE job, job_expiry, lease, dlq_summary")).all())
    yield made
    made.database.dispose()
    server.drop_database(url)


@dataclass(frozen=True)
class Case:
    """Work of the store, the indexes it may use by table, and how many rows a statement may read."""

    work: Callable[[Filled, Connection], object]
    reads: int
    indexes: dict[str, set[str]]


def some(connection: Connection, count: int) -> list[str]:
    """Jobs from all over the table, found without the statements that are looked at."""
    return list(connection.execute(select(job.c.id).order_by(job.c.messageId).limit(count)).scalars())


def middle_of(connection: Connection, wanted: JobFilter) -> Cursor:
    """A cursor half way down a list."""
    number, time = (4, job.c.earliestNextAttemptAt) if wanted is JobFilter.QUEUED else (0, job.c.deadAt)
    query = select(time, job.c.id).where(job.c.consumerId == BUSY_CONSUMER)
    if wanted in (JobFilter.QUEUED, JobFilter.DEAD):
        query = query.where(time.is_not(None)).order_by(time)
    found = connection.execute(query).all()
    at, job_id = found[len(found) // 2] if found else (NOW, "0" * 20)
    return Cursor((number, at or NOW - timedelta(days=1), job_id))


PAGE_INDEXES = {
    JobFilter.DEAD: {"job_dead"},
    JobFilter.QUEUED: {"job_due"},
    JobFilter.INFLIGHT: set[str](),
    JobFilter.ALL: {"job_dead"},
    JobFilter.DELIVERED: {"job_dead"},
    JobFilter.ARCHIVED: {"job_dead"},
}
PRIMARY = {
    name: {"PRIMARY"}
    for name in ("job", "consumer", "channel", "message", "producer", "lease", "job_origin", "job_expiry", "job_event")
}


PLACES = ("start", "middle", "back")


def page(wanted: JobFilter, where: str) -> Case:
    def work(filled: Filled, connection: Connection) -> object:
        cursor = None if where == "start" else middle_of(connection, wanted)
        cursor = Cursor(cursor.key, backwards=True) if cursor and where == "back" else cursor
        return job_pages.page(connection, BUSY_CONSUMER, wanted, cursor, LIMIT)

    reads = (LIMIT + 1) * ONE_JOB if wanted not in job_pages._WANTED else 1100
    indexes = {**PRIMARY, "job": {"PRIMARY", *PAGE_INDEXES[wanted]}, "lease": {"PRIMARY", "lease_by_consumer"}}
    return Case(work, reads, indexes)


def act(count: int, reads: int, work: Callable[[Connection, list[str]], object], **indexes: set[str]) -> Case:
    def run(filled: Filled, connection: Connection) -> object:
        ids = sorted(some(connection, count))
        return work(connection, ids)

    return Case(run, reads, {**PRIMARY, "dlq_summary": {"PRIMARY"}, **indexes})


def drop(connection: Connection, ids: list[str]) -> None:
    job_acts.drop(connection, job_acts.lock(connection, ids))


def expect(connection: Connection, ids: list[str]) -> None:
    later = NOW + timedelta(days=1)
    locked = [one._replace(expires_at=later) for one in job_acts.lock(connection, ids)]
    job_acts.expect_expiry(connection, SqlTime(connection), locked)


CASES = {
    "find": act(1, ONE_JOB, lambda c, ids: jobs.find(c, ids[0])),
    "find several": act(100, 100 * ONE_JOB, jobs.find_several),
    "starting with": act(1, 14, lambda c, ids: jobs.starting_with(c, ids[0][:19], 6)),
    "starting with little": act(1, 14, lambda c, ids: jobs.starting_with(c, ids[0][:8], 6)),
    "history": act(1, 3, lambda c, ids: jobs.history(c, ids[0])),
    **{f"page of {wanted} from the {at}": page(wanted, at) for wanted in JobFilter for at in PLACES},
    "whose": act(150, 460, job_acts.consumers_of),
    "lock": act(150, 310, job_acts.lock),
    "valid leases": act(1, 45, lambda c, ids: job_acts.valid_leases(c, [f"{at:019d}0" for at in range(20)])),
    **{
        f"become {status.name}": act(
            150, 310, lambda c, ids, status=status: job_acts.become(c, SqlTime(c), ids, status)  # type: ignore[misc]
        )
        for status in (JobStatus.QUEUED, JobStatus.ARCHIVED, JobStatus.DELIVERED)
    },
    "kill": act(150, 310, lambda c, ids: job_acts.kill(c, NOW, ids, 3)),
    "expect expiry": act(20, 50, expect),
    "drop": act(150, 610, drop),
    "lock summaries": act(1, 3, lambda c, ids: summary.lock(c, [7, 3])),
    "take back": act(1, 4, lambda c, ids: summary.take_back(c, 3, [NOW, NOW], summary.Total.REQUEUED)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_statement_goes_by_its_index(filled: Filled, name: str) -> None:
    case = CASES[name]
    plans = [plan for plan in filled.plans(lambda c: case.work(filled, c)) if not _is_apart(plan)]
    assert plans
    for plan in plans:
        assert plan.reads <= case.reads, plan
        _assert_by_index(case, plan, filled.size)


def test_a_page_reads_no_more_than_it_may_examine(filled: Filled) -> None:
    plans = filled.plans(lambda c: job_pages.page(c, BUSY_CONSUMER, JobFilter.ARCHIVED, None, LIMIT))
    assert sum(plan.reads for plan in plans) <= 2 * job_pages.EXAMINED + 100
    assert len(plans) <= job_pages.EXAMINED / job_pages.STEP + 1


def _is_apart(plan: Plan) -> bool:
    """What the test itself asks to find its jobs; and an insert, which has no plan."""
    if plan.statement.startswith("INSERT"):
        return True
    return "ORDER BY job.`messageId`" in plan.statement or "FROM job \nWHERE job.`consumerId` = " in plan.statement


def _assert_by_index(case: Case, plan: Plan, size: int) -> None:
    """A small registry table may be read whole, but never by a statement that leaves locks."""
    assert not plan.sorts, plan
    assert not (plan.walks and plan.locks), plan
    for step in plan.steps:
        if plan.locks or size > 10 or step.table == "job":
            assert step not in plan.scans, plan
        assert step.index is None or step.index in case.indexes.get(step.table, {step.index}), plan
