"""Pages by key, in one way for every list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, or_

from broker.domain.pages import Cursor, Key, Page
from broker.store.types import AnyRow, AnySelect

T = TypeVar("T")
Columns = Sequence[ColumnElement[Any]]


@dataclass(frozen=True, slots=True)
class Order:
    """By which columns a list is ordered, and the one value of each column before them in the index, if any."""

    keys: Columns
    descending: bool = True
    within: tuple[ColumnElement[int], int] | None = None
    also: tuple[tuple[ColumnElement[Any], int | None], ...] = ()

    def apply(self, query: AnySelect, falling: bool, sqlite: bool) -> AnySelect:
        """The query narrowed and ordered.

        MySQL gets a single value as a range. Given an equality, MariaDB takes its rows from the end of the index up to
        the page (access by ref), so that a page costs as much as all pages before it. NULL is left out of the order:
        both servers know that it is one value, but sort when they are told to order by it.
        """
        columns = list(self.keys)
        for column, value in reversed([*([self.within] if self.within else []), *self.also]):
            query = query.where(*_only(column, value, sqlite))
            columns = columns if sqlite or value is None else [column, *columns]
        return query.order_by(*(column.desc() if falling else column.asc() for column in columns))


def fetch_page(
    connection: Connection,
    query: AnySelect,
    order: Order,
    cursor: Cursor | None,
    limit: int,
    make: Callable[[AnyRow], T],
) -> Page[T]:
    """Up to `limit` rows after (or before) the cursor, and where the neighbours start.

    The query must select the key columns first, in their order.
    """
    backwards = cursor is not None and cursor.backwards
    rows = fetch_rows(connection, query, order, None if cursor is None else cursor.key, backwards, limit + 1)
    more, rows = len(rows) > limit, rows[:limit]
    if backwards:
        rows = rows[::-1]
    return _page(rows, len(order.keys), more, cursor, make)


def fetch_rows(
    connection: Connection, query: AnySelect, order: Order, beyond: Key | None, backwards: bool, limit: int
) -> Sequence[AnyRow]:
    """Up to `limit` rows after the key, or before it, nearest first."""
    falling = order.descending != backwards
    if beyond is not None:
        query = query.where(_beyond(order.keys, beyond, falling))
    query = order.apply(query, falling, sqlite=connection.dialect.name == "sqlite")
    return connection.execute(query.limit(limit)).all()


def _page(
    rows: Sequence[AnyRow], width: int, more: bool, cursor: Cursor | None, make: Callable[[AnyRow], T]
) -> Page[T]:
    backwards = cursor is not None and cursor.backwards
    has_next = more if not backwards else cursor is not None
    has_previous = more if backwards else cursor is not None
    ends: tuple[Key, Key] | None = (tuple(rows[0][:width]), tuple(rows[-1][:width])) if rows else None
    return Page(
        [make(row) for row in rows],
        next=ends[1] if ends and has_next else None,
        previous=ends[0] if ends and has_previous else None,
    )


def _beyond(keys: Columns, values: Key, falling: bool) -> ColumnElement[bool]:
    """Lexicographic comparison that starts with a plain range on the first key, so that the index is used."""
    first, value = keys[0], values[0]
    strictly = first < value if falling else first > value
    if len(keys) == 1:
        return strictly
    loosely = first <= value if falling else first >= value
    return and_(loosely, or_(strictly, _beyond(keys[1:], values[1:], falling)))


def _only(column: ColumnElement[Any], value: int | None, sqlite: bool) -> tuple[ColumnElement[bool], ...]:
    if value is None:
        return (column.is_(None),)
    return (column == value,) if sqlite else (column >= value, column <= value)
