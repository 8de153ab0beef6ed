"""A database of the bench's own, made before and removed afterwards."""

import signal
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
from sqlalchemy import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from broker.bench.client import BenchFailed
from broker.domain.ids import XidFactory

PREFIX = "broker_bench_"


class NoPlace(Exception):
    """There is no server where the bench shall work, or it may not work there."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Where the bench works."""

    url: str
    server_pid: int | None

    @property
    def is_sqlite(self) -> bool:
        """Whether there is a server at all."""
        return self.url.startswith("sqlite")

    def connect(self) -> Any:
        """A bare connection of the driver, with nothing around it."""
        if self.is_sqlite:
            return _connect_sqlite(self.url)
        return _connect_mysql(make_url(self.url))


@contextmanager
def scratch(database_url: str) -> Iterator[Scratch]:
    """A new database on the given server, or a new SQLite file."""
    if database_url.startswith("sqlite"):
        with tempfile.TemporaryDirectory(prefix="broker-bench-") as folder:
            yield Scratch(f"sqlite:///{folder}/bench.db", None)
        return
    server, name = _server(database_url), f"{PREFIX}{XidFactory().new()}"
    pid = _create(server, name)
    try:
        yield Scratch(server.set(database=name).render_as_string(hide_password=False), pid)
    except pymysql.MySQLError as error:
        raise BenchFailed(f"the database said: {error.args[-1]}") from error
    finally:
        with _undisturbed():
            _drop(server, name)


def _server(database_url: str) -> URL:
    """Without a database: the one that is named there is not touched."""
    try:
        return make_url(database_url).set(database="")
    except (SQLAlchemyError, ValueError):
        raise NoPlace("What --database-url gives is not the address of a database.") from None


def _create(server: URL, name: str) -> int | None:
    """Gives the server's process, where it can be seen."""
    with _connect_mysql(server) as connection, connection.cursor() as cursor:
        try:
            cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        except pymysql.MySQLError as error:
            told = f"{_told(server)} does not let this user create the bench's own database"
            raise NoPlace(f"{told}: {error.args[-1]}") from error
        return _pid(cursor)


def _drop(server: URL, name: str) -> None:
    try:
        with _connect_mysql(server) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}")
    except (NoPlace, pymysql.MySQLError) as error:
        raise BenchFailed(f"its database {name} could not be removed: {error.args[-1]}") from error


@contextmanager
def _undisturbed() -> Iterator[None]:
    """An impatient second Ctrl-C must not leave the database behind."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _connect_mysql(url: URL) -> Any:
    """With all that the address says, certificates too."""
    _, given = url.get_dialect()().create_connect_args(url)
    given["init_command"] = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
    try:
        return pymysql.connect(**given)
    except (pymysql.MySQLError, OSError, RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise NoPlace(f"{_told(url)} cannot be used: {error.args[-1] if error.args else error}") from error


def _told(url: URL) -> str:
    """The address without its password; with its certificate options, which may be what is wrong."""
    options = ", ".join(f"{name}={value}" for name, value in url.query.items() if name.startswith("ssl_"))
    where = f"The database at {url.host or '127.0.0.1'}:{url.port or 3306}"
    return f"{where} ({options})" if options else where


def _connect_sqlite(url: str) -> sqlite3.Connection:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30, isolation_level="IMMEDIATE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _pid(cursor: Any) -> int | None:
    """The server's process when it runs on this machine."""
    cursor.execute("SELECT @@pid_file, @@datadir")
    pid_file, folder = cursor.fetchone()
    with suppress(OSError, ValueError):
        return int(Path(folder, pid_file).read_text())
    return None
