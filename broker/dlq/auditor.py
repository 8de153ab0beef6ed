"""Recounts slowly, to prove that the summary tells the truth; repairs it when asked to."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from broker.operations.locking import LockLost, NamedLock
from broker.operations.parts import Parts
from broker.store import audits as store
from broker.store import checkpoints
from broker.store.engine import Connection
from broker.store.moments import SqlTime

LOCK = RUN = "dlq-audit"
LOCK_SECONDS = 120.0
EVERY = timedelta(hours=1)
PAUSE_SECONDS = 0.02
MOST_BROKEN = 20
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """A consumer whose summary was off, by how much, and whether it was put right."""

    consumer_key: int
    stored: int
    real: int
    repaired: bool


@dataclass(frozen=True, slots=True)
class Audit:
    """How many consumers were recounted, with how many dead; what was off; which lines of history do not balance."""

    consumers: int
    dead: int
    findings: list[Finding]
    broken: list[store.Broken]

    @property
    def good(self) -> bool:
        """Nothing is off, or nothing is any more."""
        return not self.broken and all(one.repaired for one in self.findings)


class Auditor:
    """One consumer after the other, each seen at one moment, with a breath in between."""

    def __init__(self, parts: Parts, pause: float = PAUSE_SECONDS) -> None:
        self._parts, self._database, self._pause = parts, parts.database, pause

    def run(self, repair: bool = False, watch: Callable[[int, int], None] = lambda done, all_of: None) -> Audit:
        """Recount everything; `watch` hears how many consumers are done, of how many."""
        began, dead = time.perf_counter(), 0
        findings: list[Finding] = []
        keys = self._database.read("list summaries", store.audited)
        for number, key in enumerate(keys, 1):
            counted = self._audit(key)
            dead += counted.real
            if counted.drift:
                findings.append(self._off(key, counted, repair))
            watch(number, len(keys))
            time.sleep(self._pause)
        broken = self._database.read("check history", lambda c: store.unbalanced(c, MOST_BROKEN))
        self._remember(time.perf_counter() - began, dead)
        return Audit(len(keys), dead, findings, broken)

    def run_when_due(self) -> Audit | None:
        """The background pass: once an hour over all instances; None when it is not due, or another does it."""
        if not self._database.read("look for an audit", self._is_due):
            return None
        lock = NamedLock(self._parts, LOCK, LOCK_SECONDS)
        if not lock.acquire():
            return None
        try:
            return self.run(watch=lambda done, all_of: lock.renew() if done % 50 == 0 else None)
        except LockLost:
            log.warning("the lock %s was lost in the middle of an audit; another instance does it", LOCK)
            return None
        finally:
            lock.release()

    def _is_due(self, connection: Connection) -> bool:
        run = checkpoints.last_run(connection, RUN)
        return run is None or run.ran_at + EVERY <= SqlTime(connection).moment

    def _audit(self, key: int) -> store.Counted:
        counted = self._database.read_moment("audit", lambda c: store.recount(c, key)) or store.Counted(0, 0)
        self._database.write("write drift", lambda c: store.write_drift(c, key, counted.drift), repeatable=True)
        return counted

    def _off(self, key: int, counted: store.Counted, repair: bool) -> Finding:
        log.error("the summary of consumer %s says %s dead, but %s are", key, *counted)
        if repair:
            counted = self._database.write("repair summary", lambda c: _repair(c, key)) or counted
            log.warning("the summary of consumer %s was repaired: it said %s dead, %s are", key, *counted)
        return Finding(key, counted.stored, counted.real, repair)

    def _remember(self, seconds: float, dead: int) -> None:
        def work(connection: Connection) -> None:
            run = checkpoints.Run(SqlTime(connection).moment, seconds, dead, "auditor")
            checkpoints.remember_run(connection, RUN, run)

        self._database.write("remember the audit", work, repeatable=True)


def _repair(connection: Connection, key: int) -> store.Counted | None:
    """Counted again with the row locked, so that nothing moves in between."""
    counted = store.recount(connection, key, lock=True)
    if counted is not None:
        store.correct(connection, key, counted.real)
        store.write_drift(connection, key, 0)
    return counted
