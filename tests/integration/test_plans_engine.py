"""How the server answers the engine's statements at three sizes: by which index, reading how many rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from sqlalchemy import Connection

from broker.delivery.claims import BATCH
from broker.domain.failures import OK, Answered, Category, Failure, Outcome
from broker.operations import reaping
from broker.operations.finishing import Report, finish
from broker.store import claiming, ends, lanes, leases, queues
from broker.store.moments import SqlTime
from tests.integration.engine_plans import LEASES, Working, plans_of, working
from tests.integration.plans import BUSY_CONSUMER, CONSUMERS, Plan
from tests.support.server import Server

LANES, COUNTED = len(CONSUMERS) * 10, 25
LIST = 5  # beside the rows of a list that is given as JSON, MySQL counts the reads of its ends
pytestmark = pytest.mark.xdist_group("plans engine")


@pytest.fixture(scope="module", params=[10, 1000, 50_000])
def work(request: pytest.FixtureRequest, server: Server) -> Iterator[Working]:
    """A database of each size."""
    with working(server, request.param) as made:
        yield made


@dataclass(frozen=True)
class Case:
    """Work of the engine, how many rows a statement of it may read, and the one index beside primary keys."""

    work: Callable[[Working, Connection], object]
    reads: int
    index: str = "PRIMARY"


def finishing(answer: object, rejected: bool = False) -> Case:
    """A whole batch with one answer: found, changed, and its lease removed."""

    def run(work: Working, connection: Connection) -> None:
        done = finish(work.parts, connection, work.reports(answer, rejected))
        assert done.late == 0
        leases.remove(connection, [work.token])

    return Case(run, 5 * BATCH + LIST)


def finish_of_several(work: Working, connection: Connection) -> None:
    """A few jobs of each lease."""
    reports = [Report(one, token, BUSY_CONSUMER, OK) for token, ids in work.held.items() for one in ids[:5]]
    assert finish(work.parts, connection, reports).delivered == len(reports)


def scan(work: Working, connection: Connection) -> None:
    assert connection.exec_driver_sql(lanes.scan_statement(sqlite=False)).all()


def count_waiting(work: Working, connection: Connection) -> None:
    found = queues.depths(connection, {key: range(10) for key in CONSUMERS}, COUNTED)
    assert set(found) == set(CONSUMERS)
    assert 0 < max(found.values()) <= COUNTED


def look_for_ends(work: Working, connection: Connection) -> None:
    assert connection.exec_driver_sql(ends.ends_statement(sqlite=False)).one() == (1, 1)


def reap(work: Working, connection: Connection) -> None:
    assert reaping._reap_leases(work.parts, connection, may_move=True).ended == min(len(work.held), 20)


def expire(work: Working, connection: Connection) -> None:
    assert reaping._expire_jobs(work.parts, connection, may_move=True).ended > 0


def claim(work: Working, connection: Connection) -> None:
    assert work.claim(connection, *((BUSY_CONSUMER, priority) for priority in range(9)), most=BATCH // 9)


def give_back(work: Working, connection: Connection) -> None:
    ids = work.held[work.token]
    assert leases.give_back(connection, SqlTime(connection), work.token, ids) == len(ids)


CASES = {
    "lanes": Case(scan, 4 * LANES, "job_due"),
    "due priorities": Case(lambda w, c: lanes.due_priorities(c, SqlTime(c), BUSY_CONSUMER), 40, "job_due"),
    "queue depths": Case(count_waiting, (2 * COUNTED + 20) * len(CONSUMERS), "job_due"),
    "claim": Case(claim, 4 * BATCH, "job_due"),
    "claim nothing": Case(lambda w, c: claiming.due_ids(c, SqlTime(c), 999, 5, BATCH), 2, "job_due"),
    "claim a large payload": Case(lambda w, c: claiming.read_payload(c, w.payload), 1),
    "delivered": finishing(OK),
    "delivered, of several leases": Case(finish_of_several, 3 * 5 * LEASES),
    "answered with a failure": finishing(Answered(Outcome.FAILED, "no")),
    "retry": finishing(Failure("HTTP_500", Category.TRANSIENT, "no")),
    "dead": finishing(Failure("HTTP_400", Category.VALIDATION, "no")),
    "dead by the consumer's wish": finishing(Failure("REJECTED", Category.TRANSIENT, "no"), rejected=True),
    "give back": Case(give_back, 2 * BATCH + 5),
    "renew": Case(lambda w, c: leases.renew(c, SqlTime(c), list(w.held), 60.0), 65),
    "is there anything to reap": Case(look_for_ends, 4, "lease_end"),
    "reaper": Case(reap, 5 * BATCH + LIST, "lease_end"),
    "expiry": Case(expire, 5 * reaping.EXPIRED_AT_ONCE),
}


@pytest.mark.parametrize("name", CASES)
def test_a_statement_of_the_engine_goes_by_its_index(work: Working, name: str) -> None:
    case = CASES[name]
    plans = plans_of(work, work.filled.plans(lambda c: case.work(work, c)))
    assert plans
    for plan in plans:
        assert plan.reads <= case.reads, plan
        _assert_by_index(case, plan, work.filled.size)


def _assert_by_index(case: Case, plan: Plan, size: int) -> None:
    """A small table may be read whole; a hot one never, and beyond ten rows not by way of its index either."""
    assert not plan.sorts, plan
    assert not (plan.walks and size > 10), plan
    for step in plan.steps:
        hot = step.table in {"job", "lease", "message", "job_expiry", "j", "m"}
        assert not (hot or plan.locks) or step not in plan.scans, plan
        assert step.index in {None, "PRIMARY", case.index} or not hot, plan


def test_a_claim_reads_its_lane_in_order_from_the_index_alone(work: Working) -> None:
    (plan,) = work.filled.plans(lambda c: claiming.due_ids(c, SqlTime(c), BUSY_CONSUMER, 8, 3))
    (step,) = plan.steps
    assert (step.access, step.index, "Using index" in step.extra) == ("range", "job_due", True)
    assert plan.reads <= 2 * 3 + 1, plan


def test_looking_for_lanes_costs_two_dives_for_each_and_not_its_length(work: Working) -> None:
    counting = "SELECT COUNT(DISTINCT consumerId, priority) FROM job"
    found = work.filled.database.read("test", lambda c: int(c.exec_driver_sql(counting).scalar_one()))
    (plan,) = work.filled.plans(lambda c: scan(work, c))
    assert plan.reads <= 3 * found + 3, plan
    assert work.filled.size < 1000 or "group-by" in plan.steps[0].extra
