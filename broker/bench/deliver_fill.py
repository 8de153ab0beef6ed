"""Jobs for the delivery bench, put straight into the tables: one message a job, all due at one moment."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from broker.bench.bare import JOB_COLUMNS, MESSAGE_COLUMNS
from broker.bench.scratch import Scratch
from broker.domain.ids import XidFactory
from broker.store.bulk import time_text

BATCH = 500
MESSAGES = f"INSERT INTO message ({MESSAGE_COLUMNS}) VALUES "
JOBS = f"INSERT INTO job ({JOB_COLUMNS}) VALUES "


@dataclass(frozen=True, slots=True)
class Keys:
    """The registry's rows that jobs refer to; the backlog belongs to a consumer of its own, which is paused."""

    channel: int
    producer: int
    consumers: list[int]
    backlog_channel: int
    backlog_consumer: int


@dataclass(frozen=True, slots=True)
class Filled:
    """The jobs of one phase, by the range of their ids."""

    count: int
    first: str
    last: str


class Filler:
    """Inserts jobs and reads what became of them. Ids grow, so that every fill is a range of the primary key."""

    def __init__(self, place: Scratch, keys: Keys, payload_bytes: int) -> None:
        self.place, self.keys, self.ids = place, keys, XidFactory()
        self.payload = json.dumps({"fill": "x" * max(0, payload_bytes - 12)}).encode().hex()
        self._connection: Any = None

    @property
    def connection(self) -> Any:
        """Opened when it is needed."""
        if self._connection is None:
            self._connection = self.place.connect()
        return self._connection

    def close(self) -> None:
        """Before a fork: SQLite's connections must not be carried into one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def fill(self, count: int, due: datetime) -> Filled:
        """So many jobs, over the consumers in turn."""
        return self._fill(count, due, self.keys.channel, self.keys.consumers)

    def fill_backlog(self, count: int) -> Filled:
        """So many jobs that are due, of the consumer that is paused."""
        return self._fill(count, self.now(), self.keys.backlog_channel, [self.keys.backlog_consumer])

    def _fill(self, count: int, due: datetime, channel: int, consumers: list[int]) -> Filled:
        first = last = ""
        for start in range(0, count, BATCH):
            jobs = self._insert(min(BATCH, count - start), f"'{time_text(due)}'", channel, consumers)
            first, last = first or jobs[0], jobs[-1]
        return Filled(count, first, last)

    def _insert(self, count: int, at: str, channel: int, consumers: list[int]) -> list[str]:
        messages, jobs = self.ids.block(count), self.ids.block(count)
        rest = f"x'{self.payload}','application/json',0,{at},{at},0"
        values = [f"('{m}',{channel},{self.keys.producer},'{m}',{rest})" for m in messages]
        self._run(MESSAGES + ",".join(values))
        turns = [consumers[number % len(consumers)] for number in range(count)]
        rows = zip(jobs, messages, turns, strict=True)
        self._run(JOBS + ",".join(f"('{j}','{m}',{c},0,1001,{at},{at},{at},0,0)" for j, m, c in rows))
        self.connection.commit()
        return jobs

    def now(self) -> datetime:
        """The database's clock."""
        if self.place.is_sqlite:
            return datetime.now(UTC)
        found: datetime = self._rows("SELECT UTC_TIMESTAMP(6)")[0][0]
        return found.replace(tzinfo=UTC)

    def soon(self, seconds: float) -> datetime:
        """A moment ahead on the database's clock."""
        return self.now() + timedelta(seconds=seconds)

    def leases(self) -> int:
        """How many claimed batches are not finished; a cheap question, the table is nearly empty."""
        return int(self._rows("SELECT COUNT(*) FROM lease")[0][0])

    def states(self, filled: Filled) -> dict[int, int]:
        """How many of the jobs have each status. Primary key range: a scan, for the end only."""
        between = f"id BETWEEN '{filled.first}' AND '{filled.last}'"
        return dict(self._rows(f"SELECT status, COUNT(*) FROM job WHERE {between} GROUP BY status"))

    def backlog(self) -> int:
        """How many jobs of the paused consumer wait and are due. Index: job_due."""
        due = f"priority = 0 AND earliestNextAttemptAt <= '{time_text(self.now())}'"
        statement = f"SELECT COUNT(*) FROM job WHERE consumerId = {self.keys.backlog_consumer} AND {due}"
        return int(self._rows(statement)[0][0])

    def _run(self, statement: str) -> None:
        cursor = self.connection.cursor()
        cursor.execute(statement)
        cursor.close()

    def _rows(self, statement: str) -> list[Any]:
        cursor = self.connection.cursor()
        cursor.execute(statement)
        rows = list(cursor.fetchall())
        cursor.close()
        self.connection.commit()
        return rows
