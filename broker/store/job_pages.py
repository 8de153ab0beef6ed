"""Pages of a consumer's jobs by state. Whatever is listed, a page costs as much as its rows, or EXAMINED entries.

A list is one range of an index after the other; a cursor says in which range it stands, and where in it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import Connection

from broker.domain.errors import InvalidCursor
from broker.domain.pages import Cursor, Key, Page
from broker.domain.states import JobFilter, JobStatus
from broker.store.job_ranges import Entry, Range, ranges_of
from broker.store.jobs import StoredJobFull, find_several

EXAMINED = 5000
STEP = 500
KEY = (int, datetime, str)
_WANTED = {
    JobFilter.INFLIGHT: JobStatus.INFLIGHT,
    JobFilter.DELIVERED: JobStatus.DELIVERED,
    JobFilter.ARCHIVED: JobStatus.ARCHIVED,
}


def page(
    connection: Connection, consumer_key: int, wanted: JobFilter, cursor: Cursor | None, limit: int
) -> Page[StoredJobFull]:
    """Newest first; queued ones in the order in which they will be served. A page may be short and have a next one."""
    return page_of(connection, ranges_of(connection, consumer_key, wanted), _WANTED.get(wanted), cursor, limit)


def page_of(
    connection: Connection, ranges: Sequence[Range], status: JobStatus | None, cursor: Cursor | None, limit: int
) -> Page[StoredJobFull]:
    """A page of what these ranges hold, of those entries that have the status where one is given."""
    backwards = cursor is not None and cursor.backwards
    keys, beyond = _gather(_entries(ranges, cursor, STEP if status else limit + 1), status, limit)
    ids = [str(key[2]) for key in keys]
    rows = find_several(connection, ids[::-1] if backwards else ids)
    near = keys[0] if keys and cursor is not None else None
    return Page(rows, near, beyond) if backwards else Page(rows, beyond, near)


def _entries(ranges: Sequence[Range], cursor: Cursor | None, step: int) -> Iterator[tuple[Key, Entry]]:
    """All entries beyond the cursor, fetched a step at a time."""
    backwards = cursor is not None and cursor.backwards
    numbers = list(range(len(ranges)))[:: -1 if backwards else 1]
    position = None if cursor is None else Entry(*cursor.key[1:])  # type: ignore[arg-type]
    if cursor is not None:
        if cursor.key[0] not in numbers:
            raise InvalidCursor("The cursor belongs to another list.")
        numbers = numbers[numbers.index(int(cursor.key[0])) :]  # type: ignore[arg-type]
    for number in numbers:
        while chunk := ranges[number](position, backwards, step):
            yield from (((number, entry.at, entry.job_id), entry) for entry in chunk)
            if len(chunk) < step:
                break
            position = chunk[-1]
        position = None


def _gather(entries: Iterator[tuple[Key, Entry]], status: JobStatus | None, limit: int) -> tuple[list[Key], Key | None]:
    """The keys of what is wanted, and where to go on, if there may be more."""
    found: list[Key] = []
    for number, (key, entry) in enumerate(entries, 1):
        if status in (None, entry.status):
            if len(found) == limit:
                return found, found[-1]
            found.append(key)
        if number == EXAMINED:
            return found, key
    return found, None
