"""The databases that tests ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.errors import NoServerFound, ServerFailed
from tests.support.killable import KillableServer
from tests.support.server import Server
from tests.support.servers import find_killable_server, find_server


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The MySQL-protocol server of this session; without one the whole run fails, for nothing is skipped."""
    found = _found(request.session)
    yield found
    found.stop()


def _found(session: pytest.Session) -> Server:
    try:
        return find_server()
    except (NoServerFound, ServerFailed) as problem:
        reason = str(problem)
    session.shouldfail = reason
    pytest.fail(reason, pytrace=False)


@pytest.fixture
def server_url(server: Server) -> Iterator[str]:
    """A fresh, empty database on the server."""
    url = server.create_database()
    yield url
    server.drop_database(url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A fresh, empty SQLite file."""
    return f"sqlite:///{tmp_path / 'broker.sqlite3'}"


@pytest.fixture(params=["sqlite", "server"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh, empty database of each kind; only the server's turn starts a server."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(scope="module")
def durable_process() -> Iterator[KillableServer]:
    """One server for the module with every commit on disk, which tests may restart and kill."""
    private = find_killable_server()
    yield private
    private.stop()


@pytest.fixture
def durable_server(durable_process: KillableServer) -> KillableServer:
    """The module's own server, running again whatever the test before did to it."""
    if not durable_process.running:
        durable_process.start()
    return durable_process


@pytest.fixture
def durable_url(durable_server: KillableServer) -> Iterator[str]:
    """A fresh, empty database on the module's own server."""
    url = durable_server.create_database()
    yield url
    if not durable_server.running:
        durable_server.start()
    durable_server.drop_database(url)
