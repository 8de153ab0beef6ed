"""The one door to the database: isolation, UTC, time-outs, and the retry of whole transactions."""

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from broker.domain.clock import Clock
from broker.domain.errors import Unavailable
from broker.store import mysql, sqlite
from broker.store.faults import Again, Fault, describe, fault_of
from broker.store.looking import Lookout, Rows

__all__ = ["Again", "Connection", "Database", "Duplicate"]

T = TypeVar("T")
OnRetry = Callable[[str, str], None]
log = logging.getLogger(__name__)

RETRY_SECONDS = 4.0
LONGEST_PAUSE = 0.2
LOST_RETRIES = 2
WRITES = {"broker_writes": True}
ONE_MOMENT = {"isolation_level": "REPEATABLE READ"}


class Duplicate(Exception):
    """A unique key is taken; the transaction was rolled back."""


class Database:
    """Runs named units of work, each in one transaction.

    1205 and 1213 are ordinary answers: the outermost transaction is rolled back and tried again within a budget,
    and each retry is reported. A connection that was lost before the commit is replaced. When it was lost in the commit
    itself nobody knows the outcome: only work that says it is `repeatable` runs again.
    """

    def __init__(
        self, url: str, clock: Clock, pool_size: int = 10, on_retry: OnRetry = lambda name, code: None
    ) -> None:
        self.clock = clock
        self._on_retry = on_retry
        self.is_sqlite = make_url(url).get_backend_name() == "sqlite"
        self.engine = _engine(url, pool_size, clock)
        self._writer = self.engine.execution_options(**WRITES)
        self._still = self.engine if self.is_sqlite else self.engine.execution_options(**ONE_MOMENT)
        self._lookout = _lookout(url, clock)

    def write(self, name: str, work: Callable[[Connection], T], repeatable: bool = False) -> T:
        """Run work that changes something; commits, or leaves nothing behind."""
        return self._run(_Attempt(name, repeatable), lambda attempt: attempt.once(self._writer, work))

    def read(self, name: str, work: Callable[[Connection], T]) -> T:
        """Run work that only reads."""
        return self._run(_Attempt(name, repeatable=True), lambda attempt: attempt.once(self.engine, work))

    def look(self, name: str, statement: str) -> Rows:
        """What one plain read finds, outside any transaction: at half the price, for what is asked again and again."""
        return self._run(_Attempt(name, repeatable=True), lambda attempt: self._lookout.rows(statement))

    def read_moment(self, name: str, work: Callable[[Connection], T]) -> T:
        """Run work that only reads, several statements that all see the same moment; keep it short."""
        return self._run(_Attempt(name, repeatable=True), lambda attempt: attempt.once(self._still, work))

    def dispose(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()
        self._lookout.dispose()

    def _run(self, attempt: "_Attempt", once: Callable[["_Attempt"], T]) -> T:
        while True:
            try:
                return once(attempt)
            except (DBAPIError, PoolTimeout, Again) as error:
                pause = attempt.pause_after(error)
                self._on_retry(attempt.name, describe(error))
                time.sleep(pause)


class _Attempt:
    """One unit of work and what is left of its budget."""

    def __init__(self, name: str, repeatable: bool) -> None:
        self.name, self.repeatable = name, repeatable
        self.ends = time.monotonic() + RETRY_SECONDS
        self.conflicts = self.losses = 0
        self.committing = False

    def once(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        self.committing = False
        with engine.connect() as connection, connection.begin() as transaction:
            result = work(connection)
            self.committing = True
            transaction.commit()
        return result

    def pause_after(self, error: DBAPIError | PoolTimeout | Again) -> float:
        """How long to wait before the next try; raises when there is none."""
        fault = fault_of(error)
        if fault is Fault.DUPLICATE:
            raise Duplicate from error
        if fault is Fault.CONFLICT and time.monotonic() < self.ends:
            self.conflicts += 1
            return random.uniform(0, min(LONGEST_PAUSE, 0.005 * 2**self.conflicts))
        if fault is Fault.LOST and self._may_repeat():
            self.losses += 1
            return 0.0
        raise self._given_up(fault, error) from error

    def _may_repeat(self) -> bool:
        return self.losses < LOST_RETRIES and (self.repeatable or not self.committing)

    def _given_up(self, fault: Fault, error: Exception) -> Exception:
        if fault is Fault.BUG:
            return error
        log.warning("%s: the database cannot serve now (%s: %s)", self.name, fault.name, describe(error))  # type: ignore[arg-type]
        return Unavailable(
            "The database cannot serve this request now. Nothing is half done: send it again in a moment."
        )


def _engine(url: str, pool_size: int, clock: Clock) -> Engine:
    if make_url(url).get_backend_name() == "sqlite":
        engine = create_engine(url, **sqlite.engine_options(url, pool_size))
        sqlite.prepare(engine, clock)
    else:
        engine = create_engine(url, **mysql.engine_options(pool_size))
        mysql.prepare(engine, clock)
    return engine


def _lookout(url: str, clock: Clock) -> Lookout:
    """Its session is opened at the first look."""
    engine = _engine(url, 1, clock)
    sqlite_or_mysql = sqlite if engine.dialect.name == "sqlite" else mysql
    return Lookout(engine, lambda session: sqlite_or_mysql.ready_to_look(session, clock))
