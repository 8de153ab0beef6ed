"""Errors of the database, put in front of one statement or one commit of this process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pymysql.connections import Connection
from pymysql.err import OperationalError
from sqlalchemy import event

from broker.operations.parts import Parts

DEADLOCK, LOCK_TIMEOUT, LOST = 1213, 1205, 2013


class Injection:
    """Counts what passes; at the given place it fails once, as the server would."""

    def __init__(self, place: int, error: int) -> None:
        self.place, self.error, self.seen, self.done = place, error, 0, False

    def is_here(self) -> bool:
        """Whether this is the place; the first statement is 0."""
        self.seen += 1
        here = self.seen - 1 == self.place and not self.done
        self.done = self.done or here
        return here


@contextmanager
def at_statement(place: int, error: int) -> Iterator[Injection]:
    """The statement at this place meets a deadlock (the server rolls back) or a lock time-out (it does not)."""
    injection = Injection(place, error)

    def query(original: Callable[..., Any], connection: Connection, sql: Any, *rest: Any) -> Any:
        if _matters(sql) and injection.is_here():
            if error == DEADLOCK:
                original(connection, "ROLLBACK")
            raise OperationalError(error, "injected")
        return original(connection, sql, *rest)

    with _patched("query", query):
        yield injection


@contextmanager
def at_commit(place: int, before: bool) -> Iterator[Injection]:
    """The connection is lost in the commit at this place: before the server got it, or after it was done."""
    injection = Injection(place, LOST)

    def commit(original: Callable[..., Any], connection: Connection) -> Any:
        if not injection.is_here():
            return original(connection)
        if not before:
            original(connection)
        connection._force_close()  # type: ignore[attr-defined]
        raise OperationalError(LOST, "Lost connection to MySQL server during query (injected)")

    with _patched("commit", commit):
        yield injection


def _matters(sql: Any) -> bool:
    text = sql if isinstance(sql, str) else bytes(sql).decode("utf-8", "replace")
    return not text.startswith(("SET ", "ROLLBACK", "COMMIT"))


@contextmanager
def _patched(name: str, replacement: Callable[..., Any]) -> Iterator[None]:
    original = getattr(Connection, name)
    setattr(Connection, name, lambda connection, *rest: replacement(original, connection, *rest))
    try:
        yield
    finally:
        setattr(Connection, name, original)


class Killed(Exception):
    """This process is dead: whatever it still asks of the database is not done."""


@contextmanager
def killed_after(parts: Parts, place: int) -> Iterator[Injection]:
    """The instance dies after its statement at this place: none comes after it, not even to tidy up."""
    injection = Injection(place, LOST)

    def before(*rest: Any) -> None:
        if injection.done:
            raise Killed

    def after(*rest: Any) -> None:
        if injection.is_here():
            raise Killed

    engine = parts.database.engine
    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "after_cursor_execute", after)
    try:
        yield injection
    finally:
        event.remove(engine, "before_cursor_execute", before)
        event.remove(engine, "after_cursor_execute", after)
