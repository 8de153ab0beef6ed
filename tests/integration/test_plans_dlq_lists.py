"""How the server answers the statements behind lists and statistics of the dead, at two sizes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from sqlalchemy import Connection, insert, select, text

from broker.domain.dead_selection import DeadFilter
from broker.domain.failures import Category
from broker.domain.pages import Cursor, Key
from broker.store import dead_breakdown, dead_pages, dlq_lines, job_counts, job_pages
from broker.store.dlq_lines import Span
from broker.store.tables import dlq_history, job
from tests.integration.plan_states import bring_into_states, lease_some
from tests.integration.plans import BUSY_CONSUMER, CONSUMERS, NOW, Filled, Plan, Step
from tests.support.server import Server

LIMIT, LINES, MOST = 25, 200, 50
ONE_JOB = 12  # rows of a job with consumer, channel, message, producer, lease and origin
KEYS = list(CONSUMERS)
NETWORK = DeadFilter(category=Category.NETWORK)
pytestmark = pytest.mark.xdist_group("plans dlq lists")


@pytest.fixture(scope="module", params=[1000, 50_000])
def filled(request: pytest.FixtureRequest, server: Server) -> Iterator[Filled]:
    """A database of each size with jobs in every state, and a history."""
    url = server.create_database()
    made = Filled(url, request.param)
    for name, work in (("states", bring_into_states), ("leases", lease_some), ("history", _write_history)):
        made.database.write(name, work)
    made.database.write("analyze", lambda c: c.execute(text("ANALYZE TABLE job, lease, dlq_history")).all())
    yield made
    made.database.dispose()
    server.drop_database(url)


def _write_history(connection: Connection) -> None:
    counts = dict.fromkeys(("opening", "died", "requeued", "deleted", "archived", "moved", "closing"), 0)
    for key in KEYS:
        moments = [NOW - timedelta(minutes=10 * number) for number in range(LINES)]
        lines = [{"consumerId": key, "checkpointAt": at, **counts} for at in moments]
        connection.execute(insert(dlq_history), lines)


@dataclass(frozen=True)
class Case:
    """Work of the store, and how many rows each and all of its statements may read."""

    work: Callable[[Connection], object]
    reads: int
    in_all: int


def dead(wanted: DeadFilter, newest_first: bool, where: str, reads: int, in_all: int) -> Case:
    def work(connection: Connection) -> object:
        cursor = None if where == "start" else Cursor(_middle(connection), backwards=where == "back")
        return dead_pages.page(connection, BUSY_CONSUMER, wanted, newest_first, cursor, LIMIT)

    return Case(work, reads, in_all)


def _middle(connection: Connection) -> Key:
    mine = select(job.c.deadAt, job.c.id).where(job.c.consumerId == BUSY_CONSUMER, job.c.deadAt.is_not(None))
    found = connection.execute(mine.order_by(job.c.deadAt)).all()
    return (0, *found[len(found) // 2])


def lines(cursor: Cursor | None, keys: list[int], reads: int) -> Case:
    return Case(lambda c: dlq_lines.page(c, keys, Span(), cursor, LIMIT), reads, reads)


PAGE = (LIMIT + 1) * ONE_JOB
STEP = 2 * job_pages.STEP + 100
BACK = Cursor((NOW - timedelta(days=1), 20), backwards=True)
CASES = {
    **{
        f"{name}, {order} first, from the {where}": dead(wanted, order == "newest", where, *reads)
        for name, wanted, reads in (
            ("all dead", DeadFilter(), (PAGE, 2 * PAGE)),
            ("dead with a condition", NETWORK, (STEP, 2 * job_pages.EXAMINED + 1000)),
        )
        for order in ("newest", "oldest")
        for where in ("start", "middle", "back")
    },
    "dead of a time": dead(
        DeadFilter(died_after=NOW - timedelta(hours=1), died_before=NOW), True, "start", PAGE, 2 * PAGE
    ),
    "queued": Case(lambda c: job_counts.queued(c, KEYS, MOST), 40 * (4 * MOST + 25), 40 * (4 * MOST + 25)),
    "inflight": Case(lambda c: job_counts.inflight(c, KEYS), 500, 6000),
    "finished": Case(lambda c: job_counts.finished(c, KEYS, MOST), 40 * (5 * MOST + 10), 40 * (5 * MOST + 10)),
    "newest deaths": Case(lambda c: job_counts.newest_deaths(c, KEYS), 200, 200),
    "breakdown": Case(lambda c: dead_breakdown.groups(c, KEYS, MOST), 40 * (5 * MOST + 10), 40 * (5 * MOST + 10)),
    "lines of one": lines(None, [3], 120),
    "lines of all": lines(None, KEYS, 40 * 120),
    "lines of all, further on": lines(Cursor((NOW - timedelta(days=1), 20)), KEYS, 40 * 120),
    "lines of all, back": lines(BACK, KEYS, 40 * 120),
}


@pytest.mark.parametrize("name", CASES)
def test_a_statement_goes_by_its_index_and_reads_a_bounded_number_of_rows(filled: Filled, name: str) -> None:
    case = CASES[name]
    plans = [plan for plan in filled.plans(case.work) if not _is_apart(plan)]
    assert plans
    for plan in plans:
        assert plan.reads <= case.reads, plan
        assert not [step for step in plan.scans if step.table in ("job", "dlq_history")], plan
        assert not [step for step in plan.sorts if step.table in ("job", "dlq_history") and not _is_list(step)], plan
    assert sum(plan.reads for plan in plans) <= case.in_all


def _is_list(step: Step) -> bool:
    """Jobs by their ids, of which a statement has a few at most, may be sorted."""
    return (step.table, step.index) == ("job", "PRIMARY")


def _is_apart(plan: Plan) -> bool:
    """What the test itself asks to find its cursor."""
    return "ORDER BY job.`deadAt`" in plan.statement and "FORCE INDEX" not in plan.statement
