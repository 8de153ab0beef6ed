"""A database of the bench's own, made before and removed afterwards."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import pymysql

from broker.domain.errors import Unavailable
from broker.domain.ids import XidFactory


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
        return _connect_mysql(self.url)


@contextmanager
def scratch(database_url: str) -> Iterator[Scratch]:
    """A new database on the given server, or a new SQLite file."""
    if database_url.startswith("sqlite"):
        with tempfile.TemporaryDirectory(prefix="broker-bench-") as folder:
            yield Scratch(f"sqlite:///{folder}/bench.db", None)
        return
    name = f"broker_bench_{XidFactory().new()}"
    base = database_url.rsplit("/", 1)[0] if database_url.count("/") > 2 else database_url
    with _connect_mysql(database_url, database="") as server, server.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        try:
            yield Scratch(f"{base}/{name}", _pid(cursor))
        finally:
            with _connect_mysql(database_url, database="") as again:
                again.cursor().execute(f"DROP DATABASE {name}")


def _connect_mysql(url: str, database: str | None = None) -> Any:
    parts = urlsplit(url)
    try:
        return _open(parts, database)
    except pymysql.OperationalError as error:
        raise Unavailable(f"No database answers at {parts.hostname}:{parts.port or 3306}: {error.args[-1]}") from None


def _open(parts: SplitResult, database: str | None) -> Any:
    return pymysql.connect(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=unquote(parts.username or "root"),
        password=unquote(parts.password or ""),
        database=parts.path.strip("/") if database is None else database or None,
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )


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
