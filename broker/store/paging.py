"""Pages by key, in one way for every list."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, or_

from broker.domain.pages import Cursor, Key, Page
from broker.store.types import AnyRow, AnySelect

T = TypeVar("T")
Columns = Sequence[ColumnElement[Any]]


def fetch_page(
    connection: Connection,
    query: AnySelect,
    keys: Columns,
    cursor: Cursor | None,
    limit: int,
    make: Callable[[AnyRow], T],
    descending: bool = True,
) -> Page[T]:
    """Up to `limit` rows after (or before) the cursor, and where the neighbours start.

    The query must select the key columns first, in the order of `keys`.
    """
    backwards = cursor is not None and cursor.backwards
    falling = descending != backwards
    if cursor is not None:
        query = query.where(_beyond(keys, cursor.key, falling))
    query = query.order_by(*(key.desc() if falling else key.asc() for key in keys)).limit(limit + 1)
    rows = connection.execute(query).all()
    more, rows = len(rows) > limit, rows[:limit]
    if backwards:
        rows = rows[::-1]
    return _page(rows, len(keys), more, cursor, make)


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
