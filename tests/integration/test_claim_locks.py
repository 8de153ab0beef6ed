"""What a claim locks: the jobs it takes and no other, so that the next one takes others and waits for nobody."""

import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine

from broker.store.claiming import due_ids
from broker.store.expiring import forget, overdue, postpone
from broker.store.moments import SqlTime
from tests.integration.engine_plans import Working, working
from tests.integration.plans import BUSY_CONSUMER
from tests.support.server import Server

LANE = (BUSY_CONSUMER, 8)
FREE = "SELECT id FROM job FORCE INDEX (PRIMARY) FOR UPDATE SKIP LOCKED"
ALL = "SELECT id FROM job"
pytestmark = pytest.mark.xdist_group("plans engine")


@pytest.fixture(scope="module", params=[100, 1000, 50_000])
def work(request: pytest.FixtureRequest, server: Server) -> Iterator[Working]:
    """A database of each size; the lane has a few due jobs in the smallest."""
    with working(server, request.param) as made:
        yield made


@pytest.fixture
def engine(work: Working) -> Engine:
    return work.filled.database.engine


def ids(connection: Connection, statement: str) -> set[str]:
    return set(connection.exec_driver_sql(statement).scalars())


def records_locked(connection: Connection, watcher: Connection) -> int:
    """Index records that a transaction has locked, as the server counts them: anew when nobody asked for 0.1 s."""
    time.sleep(0.15)
    session = connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one()
    counting = f"SELECT trx_rows_locked FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = {session}"
    return int(watcher.exec_driver_sql(counting).scalar_one())


@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_claim_of_n_locks_n_rows(engine: Engine, count: int) -> None:
    """Each by its entry in the claim index and by its primary key: two records, and no gap or neighbour."""
    with engine.connect() as one, engine.connect() as two:
        taken = due_ids(one, SqlTime(one), *LANE, count)
        assert len(taken) == count
        assert records_locked(one, two) == 2 * count
        assert ids(two, ALL) - ids(two, FREE) == set(taken)


def test_leasing_what_was_claimed_locks_no_more_rows(work: Working, engine: Engine) -> None:
    with engine.connect() as one, engine.connect() as two:
        taken = work.claim(one, LANE, most=3)
        assert len(taken) == 3
        assert ids(two, ALL) - ids(two, FREE) == set(taken)


def test_a_second_claim_takes_others_and_does_not_wait(work: Working, engine: Engine) -> None:
    with engine.connect() as one, engine.connect() as two, engine.connect() as three:
        first, second = work.claim(one, LANE, most=2), work.claim(two, LANE, most=2)
        lane = due_ids(three, SqlTime(three), *LANE, 6, lock=False)
        rest = due_ids(three, SqlTime(three), *LANE, 2)
        assert [*first, *second, *rest] == lane[:6]


def test_claims_of_many_sessions_share_a_lane_without_overlap(work: Working, engine: Engine) -> None:
    connections = [engine.connect() for _ in range(5)]
    taken = [one for connection in connections for one in work.claim(connection, LANE, most=1)]
    for connection in connections:
        connection.close()
    assert (len(taken), len(set(taken))) == (5, 5)


def test_a_claim_that_finds_nothing_locks_nothing(engine: Engine) -> None:
    with engine.connect() as one, engine.connect() as two:
        assert due_ids(one, SqlTime(one), 999, 5, 200) == []
        assert ids(two, ALL) == ids(two, FREE)


def test_two_that_end_expired_lives_do_not_wait_for_each_other(engine: Engine) -> None:
    """Each forgets what it locked itself, though the other holds entries of the same range."""
    with engine.connect() as one, engine.connect() as two:
        first, second = overdue(one, SqlTime(one), 5), overdue(two, SqlTime(two), 5)
        assert (len(first), len(second), set(first) & set(second)) == (5, 5, set())
        forget(one, first)
        postpone(two, SqlTime(two), second, 10.0)
        assert overdue(two, SqlTime(two), 1)[0] not in first + second
