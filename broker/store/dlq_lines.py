"""Lines of the history of the dead, newest first, of one consumer or of many.

The table is ordered by consumer: of each one the lines nearest to the cursor are read, and the nearest of all are kept.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, cast

from sqlalchemy import Connection

from broker.domain.pages import Cursor, Page
from broker.store.bulk import time_text
from broker.store.moments import as_time

KEY = (datetime, int)
CONSUMERS_PER_STATEMENT = 100
_COLUMNS = "checkpointAt, consumerId, opening, died, requeued, deleted, archived, moved, closing"


class Line(NamedTuple):
    """What happened to a consumer's dead from one checkpoint to the next."""

    checkpoint_at: datetime
    consumer_key: int
    opening: int
    died: int
    requeued: int
    deleted: int
    archived: int
    moved: int
    closing: int


class Span(NamedTuple):
    """From when to when; open where nothing is said."""

    since: datetime | None = None
    until: datetime | None = None


def page(connection: Connection, keys: Sequence[int], span: Span, cursor: Cursor | None, limit: int) -> Page[Line]:
    """Primary key, a range for each consumer."""
    backwards = cursor is not None and cursor.backwards
    found: list[Line] = []
    for at in range(0, len(keys), CONSUMERS_PER_STATEMENT):
        some = keys[at : at + CONSUMERS_PER_STATEMENT]
        parts = [f"SELECT * FROM ({_nearest(key, span, cursor, limit + 1)}) AS c{int(key)}" for key in some]
        rows = connection.exec_driver_sql(" UNION ALL ".join(parts))
        found += [Line(as_time(row[0]), *row[1:]) for row in rows]
    found.sort(reverse=not backwards)
    return _page(found, cursor, limit)


def _nearest(key: int, span: Span, cursor: Cursor | None, most: int) -> str:
    order = "ASC" if cursor is not None and cursor.backwards else "DESC"
    bounds = [f"consumerId = {int(key)}", *([] if cursor is None else [_beyond(key, cursor)])]
    bounds += [] if span.since is None else [f"checkpointAt >= '{time_text(span.since)}'"]
    bounds += [] if span.until is None else [f"checkpointAt <= '{time_text(span.until)}'"]
    where = " AND ".join(bounds)
    return f"SELECT {_COLUMNS} FROM dlq_history WHERE {where} ORDER BY checkpointAt {order} LIMIT {int(most)}"


def _beyond(key: int, cursor: Cursor) -> str:
    """Lines of the same moment are ordered by their consumers."""
    moment, last = cast(tuple[datetime, int], cursor.key)
    sign, same = (">", key > last) if cursor.backwards else ("<", key < last)
    return f"checkpointAt {sign}{'=' if same else ''} '{time_text(moment)}'"


def _page(found: Sequence[Line], cursor: Cursor | None, limit: int) -> Page[Line]:
    backwards, more, rows = cursor is not None and cursor.backwards, len(found) > limit, list(found[:limit])
    if backwards:
        rows.reverse()
    if not rows:
        return Page([])
    first, last = rows[0][:2], rows[-1][:2]
    return Page(
        rows,
        next=last if backwards or more else None,
        previous=first if (more if backwards else cursor is not None) else None,
    )
