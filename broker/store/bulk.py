"""Many rows in one statement.

MySQL: literals in one INSERT; texts and bytes as hexadecimal, so there is nothing to escape and nothing to inject
(measured three times as fast as executemany). SQLite: executemany, which is C there.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, SmallInteger, Table
from sqlalchemy.types import LargeBinary

from broker.store.types import UtcDateTime, Xid

STATEMENT_BYTES = 4_000_000
TIME_FORMAT = "%Y-%m-%d %H:%M:%S.%f"
Row = Sequence[Any]


class BulkInsert:
    """Inserts rows given as tuples in the order of `columns`."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        listed = ", ".join(f"`{name}`" for name in columns)
        self._head = f"INSERT INTO `{table.name}` ({listed}) VALUES "
        self._question_marks = "(" + ", ".join("?" for _ in columns) + ")"
        self._literals = [_literal_of(table.c[name].type) for name in columns]

    def __call__(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Insert all rows; more than one statement only when they are large."""
        if connection.dialect.name == "sqlite":
            _many_sqlite(connection, self._head + self._question_marks, rows)
            return
        for values in _statements(self._rendered(rows)):
            connection.exec_driver_sql(self._head + values, execution_options={"no_parameters": True})

    def _rendered(self, rows: Sequence[Row]) -> Iterator[str]:
        literals = self._literals
        for row in rows:
            yield "(" + ",".join([literal(value) for literal, value in zip(literals, row, strict=True)]) + ")"


def _many_sqlite(connection: Connection, statement: str, rows: Sequence[Row]) -> None:
    if rows:
        values = [tuple(time_text(v) if isinstance(v, datetime) else v for v in row) for row in rows]
        connection.exec_driver_sql(statement, values)


def _statements(rendered: Iterator[str]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for values in rendered:
        if held and size + len(values) > STATEMENT_BYTES:
            yield ",".join(held)
            held, size = [], 0
        held.append(values)
        size += len(values)
    if held:
        yield ",".join(held)


@lru_cache(maxsize=256)
def time_text(value: datetime) -> str:
    """A time as both databases store it."""
    return value.astimezone(UTC).strftime(TIME_FORMAT)


def _literal_of(column_type: object) -> Callable[[Any], str]:
    if isinstance(column_type, Integer | SmallInteger):
        return _integer
    if isinstance(column_type, UtcDateTime):
        return _time
    if isinstance(column_type, Xid):
        return _xid
    return _blob if isinstance(column_type, LargeBinary) else _text


def _integer(value: int | None) -> str:
    return "NULL" if value is None else str(int(value))


def _time(value: datetime | None) -> str:
    return "NULL" if value is None else f"'{time_text(value)}'"


def _xid(value: str | None) -> str:
    if value is None:
        return "NULL"
    if not value.isalnum():
        raise ValueError(f"not an id of this broker: {value!r}")
    return f"'{value}'"


def _text(value: str | None) -> str:
    if value is None:
        return "NULL"
    if value.isascii() and value.isalnum():
        return f"'{value}'"
    return f"_utf8mb4 x'{value.encode().hex()}'" if value else "''"


def _blob(value: bytes | None) -> str:
    return "NULL" if value is None else f"x'{value.hex()}'" if value else "''"
