"""How the server answers the statements behind import and export, at two sizes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from sqlalchemy import Connection, text

from broker.domain.importing import MOST_EVENTS
from broker.store import importing, jobs, messages
from tests.integration.plans import BUSY_CONSUMER, Filled
from tests.support.server import Server

COUNT = 100
ORIGINS = (
    "INSERT INTO job_origin (jobId, consumerId, sourceJobId, sourceChannelId, sourceConsumerId, failedAt, retryCount)"
    " SELECT id, consumerId, REVERSE(id), '', '', createdAt, 0 FROM job WHERE CRC32(id) % 3 = 0"
)
pytestmark = pytest.mark.xdist_group("plans import")


@pytest.fixture(scope="module", params=[1000, 20_000])
def filled(request: pytest.FixtureRequest, server: Server) -> Iterator[Filled]:
    """A database of each size, where a third of the jobs came from elsewhere."""
    url = server.create_database()
    made = Filled(url, request.param)
    made.database.write("origins", lambda c: c.exec_driver_sql(ORIGINS.replace("%", "%%"), ()))
    made.database.write("analyze", lambda c: c.execute(text("ANALYZE TABLE job, job_origin")).all())
    yield made
    made.database.dispose()
    server.drop_database(url)


@dataclass(frozen=True)
class Case:
    """Work of the store, how many rows each of its statements may read, and by which indexes."""

    work: Callable[[Filled, Connection], object]
    reads: int
    indexes: set[str]


def known(filled: Filled, connection: Connection) -> object:
    sources = connection.execute(text(f"SELECT sourceJobId, jobId FROM job_origin LIMIT {COUNT // 2}")).all()
    return importing.known_sources(connection, BUSY_CONSUMER, [one for row in sources for one in row])


def job_ids(connection: Connection) -> list[str]:
    return list(connection.execute(text(f"SELECT id FROM job ORDER BY messageId LIMIT {COUNT}")).scalars())


CASES = {
    "known sources": Case(known, 2 * COUNT + 10, {"PRIMARY", "job_origin_source"}),
    "stored": Case(lambda _, c: importing.stored(c, job_ids(c)), 2 * COUNT + 10, {"PRIMARY"}),
    "payload sizes": Case(lambda f, c: messages.payload_sizes(c, f.keys[:COUNT]), 2 * COUNT + 10, {"PRIMARY"}),
    "messages": Case(lambda f, c: messages.find_several(c, f.keys[:COUNT]), 4 * COUNT + 10, {"PRIMARY"}),
    "last of a history": Case(lambda _, c: jobs.history(c, job_ids(c)[0], MOST_EVENTS), 5, {"PRIMARY"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_statement_goes_by_its_index_and_reads_what_it_was_asked_for(filled: Filled, name: str) -> None:
    case = CASES[name]
    plans = [plan for plan in filled.plans(lambda c: case.work(filled, c)) if "LIMIT 100" not in plan.statement]
    plans = [plan for plan in plans if "LIMIT 50" not in plan.statement]
    assert plans
    for plan in plans:
        assert plan.reads <= case.reads, plan
        assert not plan.sorts, plan
        for step in plan.steps:
            assert step.table in ("producer", "") or step not in plan.scans, plan
            assert step.index in {None, "producer_public", *case.indexes}, plan
