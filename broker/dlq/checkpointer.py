"""Counts the new dead, under a named lock, so that asking how many there are costs next to nothing.

Every instance has one. Whoever gets the lock does the work for all; whoever does not goes back to sleep.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from broker.operations.dlq_status import LOCK, RUN
from broker.operations.locking import LockLost, NamedLock
from broker.operations.parts import Parts
from broker.store import checkpoints as store
from broker.store import summary
from broker.store.dead_tails import Tail, count_deaths, length, nth_death, tails_of
from broker.store.engine import Connection
from broker.store.moments import SqlTime

LOCK_SECONDS = 60.0
DEATHS_AT_ONCE = 50_000
LONG_TAIL = 10_000
HISTORY_KEPT = timedelta(days=35)
log = logging.getLogger(__name__)


class Outcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    FRESH = "nothing to do yet"
    BUSY = "another instance does it"
    LOST = "the lock was lost"


@dataclass(frozen=True, slots=True)
class Result:
    """A run: how it ended, how many deaths it counted, in how many steps, and when to look again."""

    outcome: Outcome
    counted: int = 0
    steps: int = 0
    due_in: float = 0.0


class Checkpointer:
    """Brings the summary up to date, a bounded step at a time; each step is exact by itself."""

    def __init__(self, parts: Parts, at_once: int = DEATHS_AT_ONCE) -> None:
        self._parts, self._settings, self._at_once = parts, parts.settings, at_once

    def run(self, force: bool = False) -> Result:
        """One checkpoint, unless it is too early for one, or another instance is at it."""
        wait = 0.0 if force else self.due_in()
        if wait > 0:
            return Result(Outcome.FRESH, due_in=wait)
        lock = NamedLock(self._parts, LOCK, LOCK_SECONDS)
        if not lock.acquire():
            return Result(Outcome.BUSY, due_in=self._settings.dlq_summary_interval)
        try:
            return self._run(lock, force)
        except LockLost:
            log.warning("the lock %s was lost in the middle of a checkpoint; nothing more was written", LOCK)
            return Result(Outcome.LOST)
        finally:
            lock.release()

    def due_in(self) -> float:
        """Seconds until the next checkpoint: an interval after the last, at once when many have died since."""
        return self._parts.database.read("look for a checkpoint", self._due_in)

    def _due_in(self, connection: Connection) -> float:
        moment, checked_at = store.standing(connection)
        if not checked_at:
            return self._due_in_without_consumers(connection, moment)
        high = moment - timedelta(seconds=self._settings.dlq_settle)
        age = (high - min(checked_at.values())).total_seconds()
        rest = max(0.0, self._settings.dlq_summary_interval - age)
        if rest and length(connection, tails_of(checked_at, high), LONG_TAIL) >= LONG_TAIL:
            return 0.0
        return rest

    def _due_in_without_consumers(self, connection: Connection, moment: datetime) -> float:
        """Nothing to count, but the age of the last checkpoint must not look as if nobody were at work."""
        run = store.last_run(connection, RUN)
        since = None if run is None else (moment - run.ran_at).total_seconds()
        return 0.0 if since is None else max(0.0, self._settings.dlq_summary_interval - since)

    def _run(self, lock: NamedLock, force: bool) -> Result:
        """Whether it is due is asked again under the lock: another may just have done it."""
        wait = 0.0 if force else self.due_in()
        if wait > 0:
            return Result(Outcome.FRESH, due_in=wait)
        began, counted, steps = time.perf_counter(), 0, 0
        high = self._parts.database.write("prepare a checkpoint", lambda c: self._prepare(c, lock), repeatable=True)
        while step := self._step(lock, high):
            counted, steps = counted + step.counted, steps + 1
            if step.complete:
                break
            lock.renew()
        self._remember(lock, time.perf_counter() - began, counted)
        return Result(Outcome.DONE, counted, steps)

    def _prepare(self, connection: Connection, lock: NamedLock) -> datetime:
        lock.require(connection)
        summary.add_rows(connection)
        store.refresh_names(connection)
        high = SqlTime(connection).moment - timedelta(seconds=self._settings.dlq_settle)
        store.announce(connection, high, lock.owner)
        return high

    def _step(self, lock: NamedLock, high: datetime) -> "Step":
        return self._parts.database.write(
            "checkpoint", lambda c: take_step(c, lock, high, self._at_once), repeatable=True
        )

    def _remember(self, lock: NamedLock, seconds: float, counted: int) -> None:
        def work(connection: Connection) -> None:
            lock.require(connection)
            moment, checked_at = store.standing(connection)
            store.remember_run(connection, RUN, store.Run(moment, seconds, counted, lock.owner))
            store.prune_history(connection, list(checked_at), moment - HISTORY_KEPT)

        self._parts.database.write("remember the checkpoint", work, repeatable=True)


@dataclass(frozen=True, slots=True)
class Step:
    """What one transaction counted, and whether nothing is left to count."""

    counted: int
    complete: bool


def take_step(connection: Connection, lock: NamedLock, high: datetime, at_once: int = DEATHS_AT_ONCE) -> Step:
    """Count deaths up to `high`, as many as one transaction should; all rows move on together where that is enough.
    That it counts so far must have been announced, and committed, before."""
    lock.require(connection)
    checked_at = store.lock_all(connection)
    counted, left = 0, False
    for tail in _portions(connection, tails_of(checked_at, high), at_once):
        if counted >= at_once:
            left = True
            break
        found = count_deaths(connection, tail)
        store.add_deaths(connection, found)
        store.move_on(connection, tail.keys, tail.high or high)
        counted += sum(found.values())
        left = left or tail.high != high
    return Step(counted, not left)


def _portions(connection: Connection, tails: list[Tail], at_once: int) -> Iterator[Tail]:
    """Tails cut until each is short enough: first by consumers, and one consumer's by time."""
    for tail in tails:
        if length(connection, [tail], at_once + 1) <= at_once:
            yield tail
        elif len(tail.keys) > 1:
            middle = len(tail.keys) // 2
            halves = [tail._replace(keys=tail.keys[:middle]), tail._replace(keys=tail.keys[middle:])]
            yield from _portions(connection, halves, at_once)
        else:
            yield tail._replace(high=nth_death(connection, tail, at_once) or tail.high)
