"""The servers that the tests run on."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from tests.support.accounts import reachable_parent
from tests.support.binaries import find_binary
from tests.support.errors import NotHere, ServerFailed
from tests.support.home import Home
from tests.support.killable import KillableServer
from tests.support.private_server import PrivateServer
from tests.support.server import GivenServer
from tests.support.servers import Machine, find_server


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateServer]:
    found = PrivateServer.start_new(fast=True)
    yield found
    found.stop()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that other accounts can reach, as pytest's own are not."""
    with tempfile.TemporaryDirectory(dir=reachable_parent()) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def no_engine(fast: bool) -> KillableServer:
    raise NotHere("no container engine answers")


def execute(url: str, *statements: str) -> list[object]:
    """Run statements in one connection, commit, and return the first column of the last one."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        result = [connection.execute(text(statement)) for statement in statements][-1]
        return list(result.scalars()) if result.returns_rows else []


def wait_until(done: Callable[[], bool], seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)
    return done()


def test_the_given_server_comes_before_every_other(private: PrivateServer) -> None:
    found = find_server(Machine(given=private.url, start_container=no_engine))
    assert found.kind == "given"
    assert found.url == private.url


def test_a_container_comes_before_a_server_of_our_own(private: PrivateServer) -> None:
    assert find_server(Machine(given="", start_container=lambda fast: private)) is private


def test_without_the_two_a_server_of_our_own_is_started() -> None:
    found = find_server(Machine(given="", start_container=no_engine))
    try:
        assert found.kind == "private"
        assert "MariaDB" in found.version or found.version[0].isdigit()
    finally:
        found.stop()


def test_the_database_in_a_given_url_is_never_used(private: PrivateServer) -> None:
    theirs = private.create_database()
    given = find_server(Machine(given=theirs))
    ours = given.create_database()
    assert make_url(given.url).database == ""
    assert make_url(ours).database != make_url(theirs).database
    given.drop_database(ours)
    private.drop_database(theirs)


def test_a_given_server_is_left_without_our_databases(private: PrivateServer) -> None:
    given = GivenServer(private.url)
    name = str(make_url(given.create_database()).database)
    given.stop()
    assert name not in execute(private.url, "SHOW DATABASES")


def test_a_database_that_is_not_ours_is_not_dropped(private: PrivateServer) -> None:
    theirs = private.create_database()
    with pytest.raises(ValueError, match="not made by these tests"):
        GivenServer(private.url).drop_database(theirs)
    assert make_url(theirs).database in execute(private.url, "SHOW DATABASES")
    private.drop_database(theirs)


def test_a_fresh_database_is_empty_and_takes_every_character(private: PrivateServer) -> None:
    url = private.create_database()
    assert execute(url, "SHOW TABLES") == []
    assert execute(url, "SELECT @@character_set_database") == ["utf8mb4"]
    private.drop_database(url)


def test_a_session_left_open_does_not_hold_up_the_drop(private: PrivateServer) -> None:
    url = private.create_database()
    execute(url, "CREATE TABLE t (id INT)")
    engine = create_engine(url, poolclass=NullPool)
    forgotten = engine.connect()
    forgotten.execute(text("SELECT * FROM t"))
    started = time.monotonic()
    private.drop_database(url)
    assert time.monotonic() - started < 5
    forgotten.invalidate()
    forgotten.close()


@pytest.mark.parametrize("end", ["kill", "shut_down"])
def test_data_outlives_the_process(end: str, durable_server: KillableServer) -> None:
    url = durable_server.create_database()
    execute(url, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (7)")
    getattr(durable_server, end)()
    assert not durable_server.running
    assert not durable_server.answers()
    durable_server.start()
    assert execute(url, "SELECT id FROM t") == [7]
    durable_server.drop_database(url)


def test_a_restarted_server_is_another_process_at_the_same_address(private: PrivateServer) -> None:
    address, pid = private.url, private.pid
    private.restart()
    assert private.url == address
    assert private.pid != pid
    assert private.answers()


def test_a_durable_server_starts_again_by_itself_for_the_next_test(durable_server: KillableServer) -> None:
    assert execute(durable_server.url, "SELECT @@innodb_flush_log_at_trx_commit") == [1]
    durable_server.kill()
    assert not durable_server.running


def test_and_this_is_the_next_test(durable_url: str) -> None:
    assert execute(durable_url, "SELECT DATABASE()") == [make_url(durable_url).database]


def test_two_servers_run_side_by_side(private: PrivateServer) -> None:
    other = PrivateServer.start_new(options=["--max-connections=50"], fast=True)
    try:
        assert execute(other.url, "SELECT @@max_connections") == [50]
        assert other.port != private.port
        assert other.pid != private.pid
        assert execute(private.url, "SELECT @@port") == [private.port]
    finally:
        other.stop()
    assert private.answers()


def test_a_stopped_server_leaves_neither_process_nor_folder() -> None:
    server = PrivateServer.start_new(fast=True)
    pid, folder = server.pid, server.home.path
    assert folder.is_dir()
    server.stop()
    assert not folder.exists()
    assert not process_exists(pid)


def test_as_root_the_server_runs_as_somebody_else(private: PrivateServer) -> None:
    owner = Path(f"/proc/{private.pid}").stat().st_uid
    expected = private.home.account.pw_uid if private.home.account else os.geteuid()
    assert owner == expected != 0
    assert private.home.path.stat().st_uid == owner


def test_a_server_that_does_not_start_shows_its_log_and_leaves_nothing(open_folder: Path) -> None:
    with pytest.raises(ServerFailed, match=r"did not start:(.|\n)*no-such-option"):
        PrivateServer.start_new(options=["--no-such-option=1"], parent=open_folder)
    assert list(open_folder.iterdir()) == []


def test_a_folder_has_one_process_at_a_time() -> None:
    home = Home()
    home.launch(["sleep", "60"])
    with pytest.raises(RuntimeError, match="runs here already"):
        home.launch(["sleep", "60"])
    home.close()
    assert not home.running


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_tests_that_are_ended_leave_nothing_behind(number: signal.Signals) -> None:
    program = (
        "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler);"  # ignored behind a shell's &
        "from tests.support.private_server import PrivateServer;"
        "s = PrivateServer.start_new(fast=True); print(s.pid, s.home.path, flush=True); time.sleep(600)"
    )
    tests = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert tests.stdout is not None
    pid, folder = tests.stdout.readline().decode().split()
    assert process_exists(int(pid))
    tests.send_signal(number)
    tests.communicate()
    assert wait_until(lambda: not process_exists(int(pid)))
    assert wait_until(lambda: not Path(folder).exists())


def test_the_server_at_hand_is_found_without_being_named() -> None:
    assert find_binary().path.name in {"mariadbd", "mysqld"}


def process_exists(pid: int) -> bool:
    """Whether it runs; one that has ended and only waits for its parent does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
