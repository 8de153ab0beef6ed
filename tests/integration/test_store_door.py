"""The one door to the database: whole transactions, tried again when that is right, and only then."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError

from broker.domain.clock import Clock
from broker.domain.errors import Unavailable
from broker.store import mysql
from broker.store.engine import Connection, Database, Duplicate
from tests.support.brokers import wait_until

ROWS = 4


class Door:
    """A database with one small table, and what was reported of it."""

    def __init__(self, url: str, pool_size: int = 10) -> None:
        self.url, self.clock = url, Clock()
        self.retries: list[tuple[str, str]] = []
        self.when_retried: Callable[[], None] = lambda: None
        self.database = Database(url, self.clock, pool_size, self._retried)

    def _retried(self, name: str, code: str) -> None:
        self.retries.append((name, code))
        self.when_retried()

    def fill(self) -> None:
        """Rows 1 to 4, each with the value 0."""
        self.database.write(
            "fill", lambda c: c.execute(text("CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER)"))
        )
        self.database.write("fill", lambda c: add(c, *range(1, ROWS + 1)))

    def values(self) -> dict[int, int]:
        rows = self.database.read("values", lambda c: c.execute(text("SELECT id, n FROM counter ORDER BY id")).all())
        return {int(key): int(value) for key, value in rows}


def add(connection: Connection, *keys: int) -> None:
    for key in keys:
        connection.execute(text(f"INSERT INTO counter VALUES ({key}, 0)"))


def raise_by_one(connection: Connection, *keys: int) -> None:
    for key in keys:
        connection.execute(text(f"UPDATE counter SET n = n + 1 WHERE id = {key}"))


class Counted:
    """Work that counts how often it was run."""

    def __init__(self, work: Callable[[Connection], object]) -> None:
        self._work, self.runs = work, 0

    def __call__(self, connection: Connection) -> object:
        self.runs += 1
        return self._work(connection)


@contextmanager
def opened(url: str, pool_size: int = 10) -> Iterator[Door]:
    door = Door(url, pool_size)
    yield door
    door.database.dispose()


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


def test_work_that_succeeds_runs_once_and_is_committed(door: Door) -> None:
    work = Counted(lambda c: raise_by_one(c, 1))
    door.database.write("once", work)
    assert (work.runs, door.retries) == (1, [])
    assert door.values() == {1: 1, 2: 0, 3: 0, 4: 0}


def test_a_taken_key_is_a_duplicate_and_leaves_nothing_behind(door: Door) -> None:
    def work(connection: Connection) -> None:
        raise_by_one(connection, 1)
        add(connection, 2)

    with pytest.raises(Duplicate):
        door.database.write("twice", work)
    assert door.values()[1] == 0
    assert door.retries == []


def test_our_own_mistake_is_raised_as_it_is_and_not_tried_again(door: Door) -> None:
    work = Counted(lambda c: c.execute(text("SELEKT 1")))
    with pytest.raises((ProgrammingError, OperationalError), match="SELEKT"):
        door.database.write("mistake", work)
    assert (work.runs, door.retries) == (1, [])


def break_a_rule(connection: Connection) -> None:
    raise_by_one(connection, 1)
    raise KeyError("a rule was broken")


def test_an_error_that_is_not_the_databases_rolls_back_and_passes(door: Door) -> None:
    with pytest.raises(KeyError):
        door.database.write("rule", break_a_rule)
    assert door.values()[1] == 0


def test_nothing_of_one_transaction_reaches_the_next_user_of_its_connection(database_url: str) -> None:
    with opened(database_url, pool_size=1) as door, opened(database_url) as other:
        door.fill()
        with pytest.raises(KeyError):
            door.database.write("half", break_a_rule)
        with door.database.engine.connect() as left_open:
            raise_by_one(left_open, 2)
        other.database.write("not blocked", lambda c: raise_by_one(c, 1, 2))
        assert door.values() == {1: 1, 2: 1, 3: 0, 4: 0}


def test_a_deadlock_is_tried_again_and_reported(server_door: Door) -> None:
    """Two transactions lock two rows in opposite order; each waits until the other has its first."""
    met = threading.Barrier(2)

    def crossing(first: int, second: int) -> None:
        attempts: list[int] = []

        def work(connection: Connection) -> None:
            attempts.append(1)
            raise_by_one(connection, first)
            if len(attempts) == 1:
                met.wait(10)
            raise_by_one(connection, second)

        server_door.database.write(f"crossing {first}", work)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(crossing, (1, 2), (2, 1)))
    assert [code for _, code in server_door.retries] == ["1213"]
    assert server_door.retries[0][0].startswith("crossing")
    assert server_door.values() == {1: 2, 2: 2, 3: 0, 4: 0}


def test_a_lock_wait_that_ends_is_tried_again_from_the_start(server_door: Door) -> None:
    """1205 undoes only the statement: without a rollback of all, row 1 would be raised twice."""
    with server_door.database.engine.connect() as holder:
        raise_by_one(holder, 2)
        server_door.when_retried = holder.rollback
        server_door.database.write("waiting", lambda c: raise_by_one(c, 1, 2))
    assert server_door.retries == [("waiting", "1205")]
    assert server_door.values() == {1: 1, 2: 1, 3: 0, 4: 0}


def test_the_budget_for_waiting_ends_in_unavailable(door: Door) -> None:
    with door.database.engine.execution_options(broker_writes=True).connect() as holder:
        raise_by_one(holder, 1)
        with pytest.raises(Unavailable):
            door.database.write("too long", lambda c: raise_by_one(c, 2, 1))
    assert {code for _, code in door.retries} <= {"1205", "OperationalError"}
    assert door.values() == {1: 0, 2: 0, 3: 0, 4: 0}


def kill_own_session(door: Door, connection: Connection) -> None:
    """Another session ends this one, and waits until it is gone."""
    key = connection.execute(text("SELECT CONNECTION_ID()")).scalar_one()
    with door.database.engine.connect() as other:
        other.execute(text(f"KILL CONNECTION {key}"))
        gone = text(f"SELECT COUNT(*) FROM information_schema.processlist WHERE id = {key}")
        wait_until(lambda: not other.execute(gone).scalar(), 10)


def lose_connection_once(door: Door, in_commit: bool) -> Callable[[Connection], int]:
    """Work that loses its connection at its first try: before its last statement, or just before the commit."""
    runs: list[int] = []

    def work(connection: Connection) -> int:
        runs.append(1)
        raise_by_one(connection, 1)
        if len(runs) == 1:
            kill_own_session(door, connection)
        if not in_commit:
            raise_by_one(connection, 2)
        return len(runs)

    return work


def test_a_connection_lost_before_the_commit_is_replaced(server_door: Door) -> None:
    assert server_door.database.write("lost", lose_connection_once(server_door, in_commit=False)) == 2
    assert [name for name, _ in server_door.retries] == ["lost"]
    assert server_door.values() == {1: 1, 2: 1, 3: 0, 4: 0}


def test_a_connection_lost_in_the_commit_is_unavailable_unless_the_work_is_repeatable(server_door: Door) -> None:
    with pytest.raises(Unavailable):
        server_door.database.write("unknown", lose_connection_once(server_door, in_commit=True))
    assert (server_door.retries, server_door.values()[1]) == ([], 0)
    again = lose_connection_once(server_door, in_commit=True)
    assert server_door.database.write("known", again, repeatable=True) == 2
    assert ([name for name, _ in server_door.retries], server_door.values()[1]) == (["known"], 1)


def test_a_session_that_the_server_ends_while_it_rests_is_replaced_before(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mysql, "IDLE_SECONDS", 1)
    door = Door(server_url)
    door.fill()
    rested_at = time.monotonic() + 2.5
    wait_until(lambda: time.monotonic() > rested_at, 5)
    door.database.write("after", lambda c: raise_by_one(c, 1))
    assert (door.retries, door.values()[1]) == ([], 1)
    door.database.dispose()


def test_a_server_session_is_set_as_the_broker_needs_it(server_door: Door) -> None:
    rows = server_door.database.read("settings", lambda c: c.execute(text("SHOW SESSION VARIABLES")).all())
    found = {str(name): str(value) for name, value in rows}
    assert (found.get("transaction_isolation") or found["tx_isolation"]) == "READ-COMMITTED"
    assert found["time_zone"] == "+00:00"
    assert (found["innodb_lock_wait_timeout"], found["lock_wait_timeout"]) == ("3", "5")
    assert float(found.get("max_statement_time") or float(found["max_execution_time"]) / 1000) == 10
    assert "STRICT_ALL_TABLES" in found["sql_mode"]
    assert found["character_set_client"] == found["character_set_connection"] == "utf8mb4"


def database_time(door: Door) -> datetime:
    function = "broker_now()" if door.database.is_sqlite else "CAST(NOW(6) AS CHAR)"
    shown = door.database.read("now", lambda c: str(c.execute(text(f"SELECT {function}")).scalar_one()))
    return datetime.fromisoformat(shown).replace(tzinfo=UTC)


def test_a_moved_clock_moves_the_databases_time_and_back(door: Door) -> None:
    for moved in (timedelta(days=3), timedelta(days=-5), timedelta(days=2)):
        door.clock.advance(moved)
        assert abs(database_time(door) - door.clock.now()) < timedelta(seconds=5)
    before = database_time(door)
    wait_until(lambda: database_time(door) > before, 5)


def test_a_session_that_never_moves_runs_on_real_time(door: Door) -> None:
    assert abs(database_time(door) - datetime.now(UTC)) < timedelta(seconds=5)


def test_writers_of_several_processes_do_not_lock_each_other_out(door: Door) -> None:
    """Each has a database object of its own, as processes do."""

    def writer(key: int) -> None:
        with opened(door.url) as own:
            for _ in range(40):
                own.database.write("count", lambda c: read_and_raise(c, key))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(writer, (2, 3, 4)))
    assert door.values() == {1: 120, 2: 40, 3: 40, 4: 40}


def read_and_raise(connection: Connection, key: int) -> None:
    """Reading before writing is what makes SQLite fail when the lock is taken late."""
    assert connection.execute(text(f"SELECT n FROM counter WHERE id = {key}")).scalar_one() < 40
    raise_by_one(connection, 1, key)


def test_a_database_that_is_not_there_is_unavailable(tmp_path_factory: pytest.TempPathFactory) -> None:
    with opened("mysql+pymysql://nobody@127.0.0.1:1/none") as away, pytest.raises(Unavailable):
        away.database.read("knock", lambda c: c.execute(text("SELECT 1")))
    folder = tmp_path_factory.mktemp("folder") / "is-a-folder"
    folder.mkdir()
    with opened(f"sqlite:///{folder}") as wrong, pytest.raises(Unavailable):
        wrong.database.read("knock", lambda c: c.execute(text("SELECT 1")))


def test_a_login_that_is_refused_is_unavailable(server_door: Door) -> None:
    url = server_door.database.engine.url.set(password="wrong").render_as_string(hide_password=False)
    with opened(url) as refused, pytest.raises(Unavailable) as caught:
        refused.database.read("knock", lambda c: c.execute(text("SELECT 1")))
    assert "Access denied" in str(caught.value.__cause__)
