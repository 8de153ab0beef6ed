"""A look through the door: one plain read that leaves nothing open, with the same care when it goes wrong."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError

from broker.domain.errors import Unavailable
from tests.failures.injection import DEADLOCK, LOCK_TIMEOUT, at_statement
from tests.integration.test_store_door import Door, opened, raise_by_one
from tests.support.brokers import wait_until

VALUES = "SELECT id, n FROM counter ORDER BY id"
OTHERS = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = DATABASE()"


@pytest.fixture
def door(database_url: str) -> Iterator[Door]:
    with opened(database_url) as made:
        made.fill()
        yield made


@pytest.fixture
def server_door(server_url: str) -> Iterator[Door]:
    with opened(server_url) as made:
        made.fill()
        yield made


def test_a_look_finds_what_was_committed_each_time(door: Door) -> None:
    for value in (1, 2):
        door.database.write("count", lambda c: raise_by_one(c, 2))
        assert [tuple(row) for row in door.database.look("look", VALUES)] == [(1, 0), (2, value), (3, 0), (4, 0)]


def test_a_look_does_not_wait_for_writers_nor_see_their_half_work(door: Door) -> None:
    with door.database.engine.execution_options(broker_writes=True).connect() as writer:
        raise_by_one(writer, 1)
        assert tuple(door.database.look("look", VALUES)[0]) == (1, 0)


def test_a_look_leaves_nothing_open_that_a_change_of_the_table_would_wait_for(door: Door) -> None:
    door.database.look("look", VALUES)
    door.database.write("alter", lambda c: c.execute(text("ALTER TABLE counter ADD COLUMN more INTEGER")))
    assert door.retries == []


def test_our_own_mistake_is_raised_as_it_is(door: Door) -> None:
    with pytest.raises((ProgrammingError, OperationalError), match="SELEKT"):
        door.database.look("mistake", "SELEKT 1")
    assert (door.retries, len(door.database.look("look", VALUES))) == ([], 4)


def test_a_moved_clock_moves_the_time_of_a_look_and_back(door: Door) -> None:
    now = "broker_now()" if door.database.is_sqlite else "CAST(NOW(6) AS CHAR)"
    for moved in (timedelta(days=3), timedelta(days=-3)):
        door.clock.advance(moved)
        ((found,),) = door.database.look("time", f"SELECT {now}")
        assert str(found).startswith(door.clock.now().strftime("%Y-%m-%d"))


def test_a_look_whose_session_was_ended_looks_again(server_door: Door) -> None:
    server_door.database.look("look", VALUES)
    for (key,) in server_door.database.read("others", lambda c: c.execute(text(OTHERS)).all()):
        server_door.database.write("kill", lambda c, key=key: c.execute(text(f"KILL CONNECTION {key}")))  # type: ignore[misc]
    wait_until(lambda: not server_door.database.read("others", lambda c: c.execute(text(OTHERS)).all()), 10)
    assert len(server_door.database.look("look", VALUES)) == 4
    assert [name for name, _ in server_door.retries] == ["look"]


@pytest.mark.parametrize("error", [DEADLOCK, LOCK_TIMEOUT])
def test_a_conflict_is_tried_again_and_reported(server_door: Door, error: int) -> None:
    server_door.database.look("first", VALUES)
    with at_statement(0, error):
        assert len(server_door.database.look("look", VALUES)) == 4
    assert server_door.retries == [("look", str(error))]


def test_a_database_that_is_not_there_is_unavailable() -> None:
    with opened("mysql+pymysql://nobody@127.0.0.1:1/none") as away, pytest.raises(Unavailable):
        away.database.look("knock", "SELECT 1")
