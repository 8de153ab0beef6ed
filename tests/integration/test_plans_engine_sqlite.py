"""How SQLite answers the engine's statements: by an index, never by walking or sorting the jobs."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from broker.delivery.claims import Claims
from broker.delivery.outlets import Share
from broker.delivery.pace import Pace
from broker.delivery.turns import Turns
from broker.domain.failures import OK, Category, Failure
from broker.operations import reaping
from broker.operations.finishing import Report, finish
from broker.store import ends, lanes, leases, queues
from broker.store.moments import SqlTime
from tests.integration.plans import _captured
from tests.support.brokers import Broker, make_broker
from tests.support.jobs import make_jobs
from tests.support.states import take
from tests.support.walk import register

FIRST_LANE = "SCAN job USING COVERING INDEX job_due"  # ended by LIMIT 1
ALLOWED = (FIRST_LANE, "SCAN lane", "SCAN waiting", "SCAN (subquery", "SCAN CONSTANT ROW")


@pytest.fixture
def broker(sqlite_url: str) -> Broker:
    """Thirty jobs wait, and five are leased."""
    made = make_broker(sqlite_url)
    register(made.client)
    make_jobs(made.client, 30)
    take(made, *make_jobs(made.client, 5, expiresAt="2999-01-01T00:00:00Z"), seconds=-1)
    return made


def plans(broker: Broker, work: Callable[[Connection], object]) -> list[str]:
    """Every line of the plans of the statements that the work makes."""
    database = broker.parts.database
    with database.engine.connect() as connection:
        with _captured(database) as statements:
            work(connection)
        connection.rollback()
        return [line for statement in statements for line in _plan(connection, *statement)]


def _plan(connection: Connection, statement: str, parameters: object) -> list[str]:
    if statement.startswith("INSERT"):
        return []
    given = parameters[0] if isinstance(parameters, list) else parameters
    return [one[3] for one in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)]  # type: ignore[arg-type]


def finishing(answer: object) -> Callable[[Broker, Connection], None]:
    def run(broker: Broker, connection: Connection) -> None:
        (lease,) = leases.ended(connection, SqlTime(connection), 10)
        reports = [Report(one, lease.token, lease.consumer_key, answer) for one in lease.job_ids]  # type: ignore[arg-type]
        assert finish(broker.parts, connection, reports).late == 0
        leases.remove(connection, [lease.token])

    return run


def asking(statement: str) -> Callable[[Broker, Connection], object]:
    return lambda broker, connection: connection.exec_driver_sql(statement).all()


def claim(broker: Broker, connection: Connection) -> None:
    (lane,) = lanes.waiting_lanes(broker.parts.database)
    claims = Claims(broker.parts, "o", Pace(Turns(Share())))
    jobs, _ = claims._claim(connection, broker.parts.ids.new(), [(lane[:2], 10)], 60.0)
    assert len(jobs) == 10


CASES: dict[str, tuple[Callable[[Broker, Connection], object], str]] = {
    "lanes": (asking(lanes.scan_statement(sqlite=True)), "job USING COVERING INDEX job_due"),
    "due priorities": (lambda b, c: lanes.due_priorities(c, SqlTime(c), 1), "job USING COVERING INDEX job_due"),
    "queue depths": (
        lambda b, c: queues.depths(c, {1: [0, 5]}, 10),
        "job USING COVERING INDEX job_due (consumerId=? AND priority=? AND earliestNextAttemptAt>?)",
    ),
    "claim": (claim, "job USING COVERING INDEX job_due (consumerId=? AND priority=? AND earliestNextAttemptAt<?)"),
    "delivered": (finishing(OK), "job USING INDEX sqlite_autoindex_job_1 (id=?)"),
    "retry": (finishing(Failure("HTTP_500", Category.TRANSIENT, "no")), "job USING INDEX sqlite_autoindex_job_1"),
    "dead": (finishing(Failure("HTTP_400", Category.VALIDATION, "no")), "job USING INDEX sqlite_autoindex_job_1"),
    "lost leases": (asking(ends.ends_statement(sqlite=True)), "lease USING COVERING INDEX lease_end"),
    "expired lives": (
        asking(ends.ends_statement(sqlite=True)),
        "job_expiry USING COVERING INDEX sqlite_autoindex_job_expiry_1",
    ),
    "reaper": (lambda b, c: reaping._reap_leases(b.parts, c, may_move=True), "lease USING INDEX lease_end"),
    "expiry": (lambda b, c: reaping._expire_jobs(b.parts, c, may_move=True), "job_expiry USING"),
}


@pytest.mark.parametrize("name", CASES)
def test_sqlite_goes_by_an_index(broker: Broker, name: str) -> None:
    work, index = CASES[name]
    lines = plans(broker, lambda c: work(broker, c))
    assert [line for line in lines if f"SEARCH {index}" in line], lines
    assert not [line for line in lines if "TEMP B-TREE" in line]
    assert not [line for line in lines if line.startswith("SCAN") and not line.startswith(ALLOWED)]
