"""Dead jobs for the dead-letter bench, made inside the database: one INSERT … SELECT for each few thousand of them.

They die in bursts that share one moment, as batches of an engine do; every other one has a line of history.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from broker.bench.scratch import Scratch
from broker.store.bulk import time_text

AT_ONCE = 10_000
BURST = 50
WITH_HISTORY = 2
_DIGIT = "(" + " UNION ALL ".join(f"SELECT {digit} AS n" for digit in range(10)) + ")"
_NUMBERS = (
    f"(SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS n FROM {_DIGIT} AS a, {_DIGIT} AS b, {_DIGIT} AS c,"
    f" {_DIGIT} AS d) AS numbers"
)
_JOB = (
    "INSERT INTO job (id, messageId, consumerId, priority, status, statusChangedAt, createdAt, deadAt,"
    " retryAttemptCount, replayCount, deadReason, appliedPolicy, appliedMaxRetries,"
    " errorType, errorCategory, errorText, errorFingerprint)"
    " SELECT {id}, {id}, {consumer}, 0, 1004, {at}, {at}, {at}, 5, 0, 'RETRIES_EXHAUSTED', 'retry', 5,"
    " 'HTTP_500', 'transient', 'the consumer answered 500 Internal Server Error', '0123456789abcdef0123456789abcdef'"
)
_EVENT = (
    "INSERT INTO job_event (jobId, id, happenedAt, event, actor, errorType, errorCategory, detail)"
    " SELECT {id}, {id}, {at}, 'died', 'broker', 'HTTP_500', 'transient', 'the consumer answered 500'"
)


@dataclass(frozen=True, slots=True)
class Lot:
    """So many dead from a number on; a burst of them dies every so many microseconds. The first consumer has most."""

    first: int
    count: int
    begins: datetime
    every: int
    consumers: tuple[int, ...]

    @property
    def ids(self) -> tuple[str, str]:
        """The lowest and the highest."""
        return f"{self.first:020d}", f"{self.first + self.count - 1:020d}"

    def died_at(self, number: int) -> datetime:
        """When the n-th of them did."""
        return self.begins + timedelta(microseconds=number // BURST * self.every)

    def consumer_sql(self, number: str) -> str:
        """Of 20 bursts the others get one each, as far as that goes, and the first consumer the rest."""
        burst = f"(({number} - {number} % {BURST}) / {BURST}) % 20"
        others = "".join(f" WHEN {at} THEN {key}" for at, key in enumerate(self.consumers[1:20], 1))
        return f"CASE {burst}{others} ELSE {self.consumers[0]} END" if others else str(self.consumers[0])


class Lots:
    """Puts lots of dead into the tables; numbers are never used twice, and ids grow with them."""

    def __init__(self, place: Scratch) -> None:
        self.place, self.connection = place, place.connect()
        self.used = 0

    @property
    def by_death(self) -> str:
        """The job table, to be read by job_dead only."""
        return "job INDEXED BY job_dead" if self.place.is_sqlite else "job FORCE INDEX (job_dead)"

    def close(self) -> None:
        """The connection is the bench's own."""
        self.connection.close()

    def put(
        self,
        count: int,
        begins: datetime,
        every: int,
        consumers: tuple[int, ...],
        advance: Callable[[], None] = lambda: None,
    ) -> Lot:
        """Insert so many; `advance` is told of each transaction."""
        lot = Lot(self.used, count, begins, every, consumers)
        self.used += count
        for start in range(0, count, AT_ONCE):
            self._insert(lot, start, min(AT_ONCE, count - start))
            advance()
        return lot

    def remove(self, lot: Lot) -> None:
        """What is left of a lot, in whatever state. Primary keys, a range each."""
        for table, column in (("job_event", "jobId"), ("job", "id")):
            for start in range(lot.first, lot.first + lot.count, AT_ONCE):
                end = min(start + AT_ONCE, lot.first + lot.count) - 1
                self.run(f"DELETE FROM {table} WHERE {column} BETWEEN '{start:020d}' AND '{end:020d}'")
                self.connection.commit()

    def run(self, statement: str) -> Any:
        """One statement of the bench; gives its cursor."""
        cursor = self.connection.cursor()
        cursor.execute(statement)
        return cursor

    def now(self) -> datetime:
        """By the database's clock, where it has one; SQLite's functions know milliseconds only."""
        if self.place.is_sqlite:
            now = datetime.now(UTC)
            return now - timedelta(microseconds=now.microsecond % 1000)
        return self.run("SELECT UTC_TIMESTAMP(6)").fetchone()[0].replace(tzinfo=UTC)  # type: ignore[no-any-return]

    def _insert(self, lot: Lot, start: int, count: int) -> None:
        number = f"({start} + n)"
        words = {"id": self._id(f"({lot.first + start} + n)"), "consumer": lot.consumer_sql(number),
                 "at": self._moment(lot, number)}  # fmt: skip
        some = f" FROM {_NUMBERS} WHERE n < {count}"
        self.run(f"{_JOB.format(**words)}{some} ORDER BY n")
        self.run(f"{_EVENT.format(**words)}{some} AND n % {WITH_HISTORY} = 0 ORDER BY n")
        self.connection.commit()

    def _id(self, number: str) -> str:
        return f"printf('%020d', {number})" if self.place.is_sqlite else f"LPAD({number}, 20, '0')"

    def _moment(self, lot: Lot, number: str) -> str:
        later = f"(({number} - {number} % {BURST}) / {BURST}) * {lot.every}"
        if self.place.is_sqlite:
            return f"strftime('%Y-%m-%d %H:%M:%f000', '{time_text(lot.begins)}', ({later} / 1000000.0) || ' seconds')"
        return f"TIMESTAMPADD(MICROSECOND, {later}, '{time_text(lot.begins)}')"
