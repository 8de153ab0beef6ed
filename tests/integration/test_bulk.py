"""Bulk inserts bring back exactly what went in, whatever is in it, on both databases."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from broker.domain.clock import Clock
from broker.domain.ids import XidFactory
from broker.store import bulk, schema
from broker.store.bulk import BulkInsert
from broker.store.engine import Connection, Database
from broker.store.tables import message

COLUMNS = ("id", "channelId", "producerId", "messageId", "payload", "contentType", "headers", "metadata", "priority",
           "receivedAt", "deliverAt", "expiresAt", "hopCount")  # fmt: skip
MOMENT = datetime(2031, 2, 3, 4, 5, 6, 789012, tzinfo=UTC)
insert_messages = BulkInsert(message, COLUMNS)
ids = XidFactory()


class Undone(Exception):
    """Ends a transaction that shall leave nothing behind."""


@pytest.fixture(scope="module", params=["sqlite", "server"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One database of each kind for all examples."""
    if request.param == "sqlite":
        yield from _opened(f"sqlite:///{tmp_path_factory.mktemp('bulk') / 'bulk.sqlite3'}")
        return
    server = request.getfixturevalue("server")
    url = server.create_database()
    yield from _opened(url)
    server.drop_database(url)


def _opened(url: str) -> Iterator[Database]:
    made = Database(url, Clock())
    schema.upgrade(made)
    yield made
    made.dispose()


def row(**values: Any) -> tuple[Any, ...]:
    """A message's values in the order of the columns, these in place of the usual ones."""
    key = ids.new()
    usual = {"id": key, "channelId": 1, "producerId": 1, "messageId": key, "payload": b"hello",
             "contentType": "text/plain", "headers": None, "metadata": None, "priority": 0, "receivedAt": MOMENT,
             "deliverAt": MOMENT, "expiresAt": None, "hopCount": 0}  # fmt: skip
    return tuple({**usual, **values}[name] for name in COLUMNS)


def there_and_back(database: Database, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Insert, read through the tables' own types, and undo."""
    found: list[tuple[Any, ...]] = []

    def work(connection: Connection) -> None:
        insert_messages(connection, rows)
        query = select(*(message.c[name] for name in COLUMNS)).order_by(message.c.id)
        found.extend(tuple(one) for one in connection.execute(query))
        raise Undone

    with pytest.raises(Undone):
        database.write("there and back", work)
    return found


TEXTS = ["", "'", '"', "\\", "\\'", "''", "%s", "%(id)s", ":id", "?", "`", "--", "/*", "\n\r\t", "a\0b", "\0", "0x41",
         "é", "ß", "日本語", "😀", "👩‍👩‍👧", "\u202e", "\ufeff",
         "'; DROP TABLE message; --", " leading and trailing ", "NULL"]  # fmt: skip
BLOBS = [b"", b"\0", b"'", b"\\", b"\xff\xfe", bytes(range(256)), b"'); --", "😀".encode(), b"%s", b"NULL"]


def test_awkward_texts_come_back_as_they_were(database: Database) -> None:
    rows = [row(contentType=value, headers=value, metadata=value) for value in TEXTS]
    assert there_and_back(database, rows) == rows


def test_awkward_bytes_come_back_as_they_were(database: Database) -> None:
    rows = [row(payload=value) for value in BLOBS]
    assert there_and_back(database, rows) == rows


def test_ids_that_differ_only_in_case_accent_or_width_are_different(database: Database) -> None:
    rows = [row(messageId=value) for value in ("a", "A", "á", " a", "ａ", "\u0061\u0301")]
    assert there_and_back(database, rows) == rows


def test_missing_values_and_the_ends_of_numbers_come_back(database: Database) -> None:
    rows = [row(expiresAt=None, priority=9, hopCount=2**31 - 1), row(channelId=2**31 - 1, hopCount=-(2**31))]
    assert there_and_back(database, rows) == rows


def test_times_keep_their_microseconds_and_are_stored_in_utc(database: Database) -> None:
    elsewhere = timezone(timedelta(hours=5, minutes=45))
    times = [MOMENT, MOMENT.replace(microsecond=1), MOMENT.replace(microsecond=999_999), MOMENT.astimezone(elsewhere),
             datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), datetime(2000, 2, 29, tzinfo=UTC)]  # fmt: skip
    rows = [row(receivedAt=value, deliverAt=value, expiresAt=value) for value in times]
    assert there_and_back(database, rows) == rows


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
            st.binary(max_size=300),
            st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC)),
        ),
        max_size=5,
    )
)
def test_any_text_bytes_and_time_come_back(database: Database, values: list[tuple[str, bytes, datetime]]) -> None:
    rows = [row(headers=words, contentType=words, payload=data, expiresAt=moment) for words, data, moment in values]
    assert there_and_back(database, rows) == rows


def test_nothing_to_insert_is_no_statement(database: Database) -> None:
    assert there_and_back(database, []) == []


def test_large_rows_go_in_several_statements_and_one_transaction(database: Database) -> None:
    rows = [row(payload=bytes([number]) * 900_000) for number in range(7)]
    statements: list[int] = []
    listen = lambda c, cursor, statement, parameters, context, many: statements.append(len(statement))  # noqa: E731
    event.listen(database.engine, "before_cursor_execute", listen)
    found = there_and_back(database, rows)
    event.remove(database.engine, "before_cursor_execute", listen)
    assert found == rows
    assert database.is_sqlite or len([size for size in statements if size > 1_000_000]) == 4
    assert max(statements) < bulk.STATEMENT_BYTES + 1000


def test_an_id_that_the_broker_cannot_have_made_never_becomes_sql(server_url: str) -> None:
    for database in _opened(server_url):
        for wrong in ("' OR 1=1", "x'00", "", "-"):
            with pytest.raises(ValueError, match="not an id"):
                database.write("wrong id", partial(insert_messages, rows=[row(id=wrong)]))
