"""A database filled to a size, and what its server does to answer a statement of the store."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, event, insert, text

from broker.domain.clock import Clock
from broker.domain.ids import XidFactory
from broker.domain.states import JobStatus
from broker.store import schema
from broker.store.bulk import BulkInsert
from broker.store.engine import Database
from broker.store.tables import channel, consumer, job, job_event, message, producer, scheduled_message

READS = ("Handler_read", "Handler_icp_attempts")
CHANNELS, CONSUMERS = range(1, 21), range(1, 41)
BUSY_CHANNEL, BUSY_CONSUMER, LONELY_CHANNEL = 1, 1, 21
NOW = datetime.now(UTC)
_TIMES = {"createdAt": NOW, "changedAt": NOW, "revision": 1}
_ENTRY = {**_TIMES, "name": "name", "tokenHash": "hash"}
_insert_messages = BulkInsert(
    message, ("id", "channelId", "producerId", "messageId", "payload", "contentType", "priority", "receivedAt",
              "deliverAt", "hopCount"))  # fmt: skip
_insert_scheduled = BulkInsert(scheduled_message, ("id", "channelId", "deliverAt"))
_insert_jobs = BulkInsert(
    job, ("id", "messageId", "consumerId", "priority", "status", "statusChangedAt", "createdAt",
          "earliestNextAttemptAt", "retryAttemptCount", "replayCount"))  # fmt: skip
_insert_events = BulkInsert(job_event, ("jobId", "id", "happenedAt", "event", "actor"))


@dataclass(frozen=True)
class Step:
    """One table of a plan."""

    table: str
    access: str
    index: str | None
    extra: str


@dataclass(frozen=True)
class Plan:
    """How one statement was answered: its steps, and how many rows were really read for it."""

    statement: str
    steps: list[Step]
    reads: int

    @property
    def locks(self) -> bool:
        """Whether rows stay locked, so that a scan would be in the way of others."""
        return not self.statement.startswith("SELECT") or "FOR UPDATE" in self.statement or " SHARE" in self.statement

    @property
    def scans(self) -> list[Step]:
        """Steps that read a whole table; a list of ids is none."""
        return [step for step in self.steps if step.access == "ALL" and step.table != "wanted"]

    @property
    def walks(self) -> list[Step]:
        """Steps that read an index from its start."""
        return [step for step in self.steps if step.access == "index"]

    @property
    def sorts(self) -> list[Step]:
        """Steps that sort, or make a table to do so. An UPDATE of what it is found by keeps its rows in one."""
        made = () if self.statement.startswith("UPDATE") else ("temporary",)
        sorting = [step for step in self.steps if any(word in step.extra for word in ("filesort", *made))]
        return [step for step in sorting if step.table != "wanted"]


class Filled:
    """A server's database with this many messages, most of them in one channel."""

    def __init__(self, url: str, size: int) -> None:
        self.database, self.size = Database(url, Clock()), size
        schema.upgrade(self.database)
        self.keys = XidFactory().block(size)
        self.database.write("registry", _fill_registry)
        for start in range(0, size, 5000):
            self.database.write("messages", lambda c, at=start: _fill(c, self.keys[at : at + 5000], at))  # type: ignore[misc]
        self.database.write("analyze", lambda c: c.execute(text(f"ANALYZE TABLE {_tables()}")).all())

    def plans(self, work: Callable[[Connection], object]) -> list[Plan]:
        """Run work of the store, and explain each statement of it in the same transaction, which is undone."""
        return explain(self.database, work)


def explain(database: Database, work: Callable[[Connection], object]) -> list[Plan]:
    """Run work of the store, and explain each statement of it in the same transaction, which is undone."""
    with database.engine.connect() as connection:
        with _captured(database) as statements:
            work(connection)
        connection.rollback()
        return [_plan(connection, *statement) for statement in statements]


@contextmanager
def _captured(database: Database) -> Iterator[list[tuple[str, Any]]]:
    statements: list[tuple[str, Any]] = []

    def listen(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        statements.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", listen)
    yield statements
    event.remove(database.engine, "before_cursor_execute", listen)


def _plan(connection: Connection, statement: str, parameters: Any) -> Plan:
    rows = connection.exec_driver_sql(f"EXPLAIN FORMAT=TRADITIONAL {statement}", parameters).mappings().all()
    read = [row for row in rows if row["select_type"] != "INSERT"]
    steps = [Step(row["table"] or "", row["type"] or "", row["key"], row["Extra"] or "") for row in read]
    connection.exec_driver_sql("FLUSH STATUS")
    executed = connection.exec_driver_sql(statement, parameters)
    _ = executed.all() if executed.returns_rows else None
    counted = connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Handler%%'").all()
    connection.rollback()
    return Plan(statement, steps, sum(int(count) for name, count in counted if name.startswith(READS)))


def _fill_registry(connection: Connection) -> None:
    connection.execute(insert(producer), [{**_ENTRY, "id": 1, "producerId": "producer"}])
    channels = [
        {**_ENTRY, "id": key, "channelId": f"channel-{key}", "settings": "{}", "paused": False}
        for key in (*CHANNELS, LONELY_CHANNEL)
    ]
    connection.execute(insert(channel), channels)
    consumers = [
        {**_ENTRY, "id": key, "channelId": 1 + (key - 1) % len(CHANNELS), "consumerId": f"consumer-{key}",
         "type": "pull", "settings": "{}", "paused": False, "builtIn": False}
        for key in CONSUMERS
    ]  # fmt: skip
    connection.execute(insert(consumer), consumers)


def _fill(connection: Connection, keys: list[str], start: int) -> None:
    """Every tenth message is for another channel, every fifth is scheduled; two jobs each, if there are consumers."""
    jobs = iter(XidFactory().block(2 * len(keys)))
    messages, scheduled, made = [], [], []
    for number, key in enumerate(keys, start):
        home = 2 + number // 10 % len(CHANNELS) if number % 10 == 9 else BUSY_CHANNEL
        due = NOW + timedelta(days=1, seconds=number) if number % 5 == 0 else NOW - timedelta(seconds=number)
        messages.append((key, home, 1, f"message-{key}", b"payload", "text/plain", number % 10, NOW, due, 0))
        scheduled += [(key, home, due)] if number % 5 == 0 else []
        made += [(next(jobs), key, target, number % 10, JobStatus.QUEUED, NOW, NOW, due, 0, 0)
                 for target in (home, home + len(CHANNELS)) if home != LONELY_CHANNEL]  # fmt: skip
    _insert_messages(connection, messages)
    _insert_scheduled(connection, scheduled)
    _insert_jobs(connection, made)
    _insert_events(connection, [(row[0], row[0], NOW, "died", "broker") for row in made[::7]])


def _tables() -> str:
    return ", ".join(table.name for table in (producer, channel, consumer, message, scheduled_message, job, job_event))
