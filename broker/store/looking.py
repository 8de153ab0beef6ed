"""Plain reads with nothing around them, for those who look many times a second."""

import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import PoolProxiedConnection

Rows = list[tuple[Any, ...]]


class Lookout:
    """A session of its own that is kept, each statement a transaction by itself: one round trip, nothing left open.

    `ready` sets the session to that. One that met any error at all is not used again.
    """

    def __init__(self, engine: Engine, ready: Callable[[PoolProxiedConnection], None]) -> None:
        self._engine, self._ready = engine, ready
        self._lock = threading.Lock()
        self._kept: Connection | None = None

    def rows(self, statement: str) -> Rows:
        """What one statement without parameters finds; errors are told as those of any other connection."""
        with self._lock:
            self._kept = self._kept or self._engine.connect()
            session = self._kept.connection
            try:
                self._ready(session)
                return _rows(session, statement)
            except BaseException as error:
                told = self._told(session, statement, error)
                self._drop(self._kept)
                raise told from error

    def dispose(self) -> None:
        """Close the session; the next look opens another."""
        with self._lock:
            if self._kept is not None:
                self._drop(self._kept)
        self._engine.dispose()

    def _drop(self, kept: Connection) -> None:
        self._kept = None
        kept.invalidate()
        kept.close()

    def _told(self, session: PoolProxiedConnection, statement: str, error: BaseException) -> BaseException:
        dialect = self._engine.dialect
        kind: type[Exception] = dialect.loaded_dbapi.Error
        if not isinstance(error, kind):
            return error
        lost = dialect.is_disconnect(error, session, None)  # type: ignore[arg-type]
        return DBAPIError.instance(statement, None, error, kind, connection_invalidated=lost, dialect=dialect)


def _rows(session: PoolProxiedConnection, statement: str) -> Rows:
    cursor = session.cursor()
    cursor.execute(statement)
    found = list(cursor.fetchall())
    cursor.close()
    return found
