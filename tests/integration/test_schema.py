"""The schema: up, down, up again, by two at once; what differs is told; what the columns are."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, inspect, select, text

from broker.domain.clock import Clock
from broker.store import schema
from broker.store.engine import Connection, Database
from broker.store.mysql import METADATA_LOCK_SECONDS, PATIENT_LOCK_SECONDS, be_patient
from broker.store.tables import lock, metadata
from broker.store.types import UtcDateTime
from tests.support.brokers import make_broker
from tests.support.walk import publish, register

SEED_COUNT = (
    "SELECT consumerId, COUNT(id) FROM job WHERE status = 1004 AND statusChangedAt > :checked GROUP BY consumerId"
)
SEED_TAKE_BACK = "UPDATE dlq_summary SET dead_count = dead_count - 1 WHERE consumerId = :consumer"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url, Clock())
    yield made
    made.dispose()


def tables(database: Database) -> set[str]:
    return database.read("tables", lambda c: set(inspect(c).get_table_names()))


def run(database: Database, *statements: str) -> None:
    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))

    database.write("by hand", work)


def test_an_empty_database_goes_up_and_down_and_up_again(database: Database) -> None:
    assert schema.current(database) is None
    for _ in range(2):
        schema.upgrade(database)
        schema.upgrade(database)
        assert schema.current(database) == schema.head()
        assert tables(database) == {*metadata.tables, "alembic_version"}
        assert schema.differences(database) == []
        schema.downgrade(database, "base")
        assert (schema.current(database), tables(database)) == (None, {"alembic_version"})


def test_several_processes_that_upgrade_at_once_all_succeed(database: Database, database_url: str) -> None:
    command = [sys.executable, "-m", "broker", "--database-url", database_url, "db", "upgrade"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(3)]
    told = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], told
    assert all(f"The schema is {schema.head()}" in line for line in told)
    assert schema.differences(database) == []


def test_an_upgrade_that_fails_lets_the_next_one_go_ahead(database: Database, database_url: str) -> None:
    with pytest.raises(Exception, match="no-such-revision"):
        schema.upgrade(database, "no-such-revision")
    other = Database(database_url, Clock())
    schema.upgrade(other)
    assert schema.current(other) == schema.head()
    other.dispose()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DROP INDEX job_by_message ON job", "job_by_message"),
        ("ALTER TABLE job DROP COLUMN errorFingerprint", "errorFingerprint"),
        ("ALTER TABLE job ADD COLUMN note INT", "note"),
        ("ALTER TABLE job MODIFY errorText VARCHAR(10)", "errorText"),
        ("ALTER TABLE job MODIFY retryAttemptCount SMALLINT NULL", "retryAttemptCount"),
        ("ALTER TABLE job MODIFY statusChangedAt DATETIME NOT NULL", "statusChangedAt"),
        ("ALTER TABLE message MODIFY messageId VARCHAR(255) COLLATE utf8mb4_general_ci NOT NULL", "messageId"),
        ("ALTER TABLE message DROP INDEX message_public", "message_public"),
        ("DROP TABLE job_event", "job_event"),
    ],
)
def test_what_was_changed_by_hand_on_the_server_is_told(server_url: str, change: str, told: str) -> None:
    database = Database(server_url, Clock())
    schema.upgrade(database)
    run(database, change)
    assert told in "; ".join(schema.differences(database))
    database.dispose()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DROP INDEX job_by_message", "job_by_message"),
        ("ALTER TABLE job DROP COLUMN errorFingerprint", "errorFingerprint"),
        ("ALTER TABLE job ADD COLUMN note INTEGER", "note"),
        ("DROP TABLE job_event", "job_event"),
    ],
)
def test_what_was_changed_by_hand_in_the_file_is_told(sqlite_url: str, change: str, told: str) -> None:
    database = Database(sqlite_url, Clock())
    schema.upgrade(database)
    run(database, change)
    assert told in "; ".join(schema.differences(database))
    database.dispose()


def test_every_time_on_the_server_has_microseconds_and_every_text_a_binary_collation(server_url: str) -> None:
    database = Database(server_url, Clock())
    schema.upgrade(database)
    columns = (
        "SELECT table_name, column_name, data_type, datetime_precision, collation_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name <> 'alembic_version'"
    )
    rows = database.read("columns", lambda c: [tuple(row) for row in c.execute(text(columns))])
    database.dispose()
    times = {(row[0], row[1]) for row in rows if (row[2], row[3]) == ("datetime", 6)}
    assert times == {(t.name, c.name) for t in metadata.tables.values() for c in t.c if isinstance(c.type, UtcDateTime)}
    assert not [row for row in rows if row[2] == "timestamp" or (row[2] == "datetime" and row[3] != 6)]
    assert {row[4] for row in rows if row[4]} == {"utf8mb4_bin", "ascii_bin"}
    found = {(row[0], row[1]): row[4] for row in rows}
    assert found["message", "messageId"] == found["channel", "name"] == "utf8mb4_bin"
    assert found["job", "id"] == found["message", "id"] == found["consumer", "callbackUrl"] == "ascii_bin"


def test_microseconds_survive_on_both_databases(database: Database) -> None:
    schema.upgrade(database)
    moment = datetime(2031, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    values = {"lockId": "a", "owner": "b", "attainedAt": moment, "expiresAt": moment.replace(microsecond=1)}
    database.write("lock", lambda c: c.execute(insert(lock).values(**values)))
    row = database.read("lock", lambda c: c.execute(select(lock)).one())
    assert (row.attainedAt, row.expiresAt) == (moment, moment.replace(microsecond=1))


def test_the_seeds_sql_runs_as_it_is_written(database_url: str) -> None:
    """Messages with too many hops make dead jobs, which the seed's statements count and take back."""
    broker = make_broker(database_url)
    register(broker.client, consumers=("one", "two"))
    for _ in range(3):
        assert publish(broker.client, b"", "channel", **{"X-Broker-Hop-Count": "21"}).status_code == 201
    counted = broker.parts.database.read("count", lambda c: _counted(c, "2000-01-01 00:00:00.000000"))
    assert [count for _, count in counted] == [3, 3]
    assert broker.parts.database.read("count", lambda c: _counted(c, "2100-01-01 00:00:00.000000")) == []
    consumer = counted[0][0]
    changed = "UPDATE dlq_summary SET dead_count = 3"
    broker.parts.database.write("checkpoint", lambda c: c.execute(text(changed)))
    broker.parts.database.write("take back", lambda c: c.execute(text(SEED_TAKE_BACK), {"consumer": consumer}))
    left = "SELECT dead_count FROM dlq_summary ORDER BY consumerId"
    assert broker.parts.database.read("left", lambda c: c.execute(text(left)).scalars().all()) == [2, 3]
    broker.parts.database.dispose()


def _counted(connection: Connection, checked: str) -> list[tuple[int, int]]:
    return sorted((int(key), int(count)) for key, count in connection.execute(text(SEED_COUNT), {"checked": checked}))


def test_a_migration_may_take_longer_than_a_request_on_a_session_that_is_not_used_again(server_url: str) -> None:
    database = make_broker(server_url).parts.database
    with database.engine.connect() as connection:
        be_patient(connection)
        limits = connection.exec_driver_sql("SELECT @@lock_wait_timeout, CONNECTION_ID(), @@wait_timeout").one()
    with database.engine.connect() as connection:
        after = connection.exec_driver_sql("SELECT @@lock_wait_timeout, CONNECTION_ID()").one()
    database.dispose()
    assert (limits[0], after[0]) == (PATIENT_LOCK_SECONDS, METADATA_LOCK_SECONDS)
    assert limits[1] != after[1]
    assert limits[2] > 3600
