"""What every test server can do, wherever it came from."""

import contextlib
import secrets
from collections.abc import Iterator
from typing import ClassVar, Literal

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

Kind = Literal["given", "container", "private"]


class Server:
    """A MySQL-protocol server on which tests make and drop databases of their own."""

    kind: ClassVar[Kind]

    def __init__(self, url: str) -> None:
        self._address = make_url(url).set(database="")
        self._databases: set[str] = set()
        self._engine = create_engine(
            self._address,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"connect_timeout": 5},
        )

    @property
    def url(self) -> str:
        """The server's SQLAlchemy URL, without a database."""
        return self._address.render_as_string(hide_password=False)

    @property
    def version(self) -> str:
        """What the server says it is."""
        with self.connect() as connection:
            return str(connection.execute(text("SELECT VERSION()")).scalar_one())

    @contextlib.contextmanager
    def connect(self) -> Iterator[Connection]:
        """An administrator's connection, outside of every test database."""
        with self._engine.connect() as connection:
            yield connection

    def answers(self) -> bool:
        """Whether a login succeeds right now."""
        try:
            return bool(self.version)
        except SQLAlchemyError:
            return False

    def create_database(self) -> str:
        """Make an empty database of a random name, and return its SQLAlchemy URL."""
        name = f"broker_test_{secrets.token_hex(6)}"
        with self.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name} CHARACTER SET utf8mb4"))
        self._databases.add(name)
        return self._address.set(database=name).render_as_string(hide_password=False)

    def drop_database(self, url: str) -> None:
        """Drop a database that this object made, and end the sessions that could hold up the drop."""
        name = make_url(url).database
        if name not in self._databases:
            raise ValueError(f"database {name} was not made by these tests, so they do not drop it")
        with self.connect() as connection:
            _end_sessions(connection, name)
            connection.execute(text(f"DROP DATABASE IF EXISTS {name}"))
        self._databases.remove(name)

    def stop(self) -> None:
        """Leave nothing behind: here, drop the databases that tests did not drop."""
        for name in sorted(self._databases):
            self.drop_database(f"mysql:///{name}")


class GivenServer(Server):
    """A server that somebody else runs; it is used and left as it was."""

    kind = "given"


def _end_sessions(connection: Connection, database: str) -> None:
    for row in connection.execute(text("SHOW PROCESSLIST")).mappings().all():
        if row["db"] == database:
            with contextlib.suppress(DBAPIError):
                connection.execute(text(f"KILL {int(row['Id'])}"))
