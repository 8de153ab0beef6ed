"""How the server answers the statements of the summary: as much work with 10 dead as with 50,000, known or not."""

from collections.abc import Iterator

import pytest

from broker.domain.dead_selection import DeadAct
from broker.store import dead_tails, dlq_status
from tests.integration.dlq_plans import CASES, HOT, TAIL, Dead, dead
from tests.integration.plans import Plan, Step, explain
from tests.support.server import Server

pytestmark = pytest.mark.xdist_group("plans dlq")
SIZES = {"10": (10, False), "1000": (1000, False), "50000": (50_000, False), "50000, unknown": (50_000, True)}


@pytest.fixture(scope="module", params=SIZES)
def many(request: pytest.FixtureRequest, server: Server) -> Iterator[Dead]:
    """A database of each size; of the last the server's statistics know nothing."""
    url = server.create_database()
    size, stale = SIZES[request.param]
    with dead(url, size, stale) as made:
        yield made
    server.drop_database(url)


def plans(many: Dead, name: str) -> list[Plan]:
    found = explain(many.parts.database, lambda c: CASES[name].work(many, c))
    return [one for one in found if not one.statement.startswith("SELECT NOW") and " VALUES (" not in one.statement]


def by_range(many: Dead, step: Step) -> bool:
    """MySQL may read the whole of an index that has fifty entries, but never of a larger one."""
    return (step.index, step.access) in {("job_dead", "range"), *([("job_dead", "index")] if many.size <= 10 else [])}


@pytest.mark.parametrize("name", CASES)
def test_a_statement_of_the_summary_goes_by_its_index(many: Dead, name: str) -> None:
    found = plans(many, name)
    assert found
    for plan in found:
        assert plan.reads <= CASES[name].reads, plan
        assert CASES[name].sorts or not plan.sorts, plan
        for step in (one for one in plan.steps if one.table in HOT):
            assert step.index in {"job_dead", "PRIMARY"}, plan
            assert step not in plan.scans and (step not in plan.walks or by_range(many, step)), plan


def test_the_status_is_one_statement_that_reads_the_tail_from_the_index_alone(many: Dead) -> None:
    (plan,) = explain(many.parts.database, lambda c: dlq_status.count(c, many.checked_at))
    (step,) = [one for one in plan.steps if one.table == "job"]
    assert by_range(many, step)
    assert "Using index" in step.extra and "Using index condition" not in step.extra


def test_a_checkpoint_counts_from_the_index_alone_and_waits_for_what_is_not_committed(many: Dead) -> None:
    (plan,) = explain(many.parts.database, lambda c: dead_tails.count_deaths(c, many.tail))
    (step,) = plan.steps
    assert plan.locks and by_range(many, step)
    assert "Using index" in step.extra and plan.reads <= TAIL + 15


@pytest.mark.parametrize("act", [DeadAct.DELETE, DeadAct.REQUEUE, DeadAct.ARCHIVE])
def test_a_chunk_touches_its_stretch_of_the_jobs_and_nothing_beside_it(many: Dead, act: DeadAct) -> None:
    found = [one for one in explain(many.parts.database, many.chunk(act)) if " job " in one.statement]
    jobs = [step for plan in found for step in plan.steps if step.table == "job"]
    assert jobs and all(by_range(many, step) or (step.access, step.index) == ("ref", "job_dead") for step in jobs), (
        found
    )


def test_no_hot_statement_of_the_answer_depends_on_how_many_are_dead(many: Dead) -> None:
    read = sum(plan.reads for plan in plans(many, "whole answer"))
    assert read <= 2 * TAIL + 200, "the sum of all rows read for one /dlq-status"
