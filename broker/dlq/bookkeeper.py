"""What every instance does beside its own work: checkpoints, operations that wait to be gone on with, audits."""

import logging
import random
import time
from collections.abc import Callable

from broker.dlq.auditor import Auditor
from broker.dlq.checkpointer import Checkpointer, Outcome
from broker.domain.errors import Unavailable
from broker.operations import bulk
from broker.operations.parts import Parts

LOOK_SECONDS = 10.0
OPERATION_LOOK_SECONDS = 1.0
OPERATION_SECONDS = 10.0
AUDIT_LOOK_SECONDS = 300.0
NAP_SECONDS = 0.2
AWAY_SECONDS = 2.0
log = logging.getLogger(__name__)


class Bookkeeper:
    """One thread, one duty at a time; a database that is away is waited for."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._clock = parts, parts.clock
        self._checkpointer, self._auditor = Checkpointer(parts), Auditor(parts)
        self._checkpoint_at = self._operations_at = 0.0
        self._audit_at = self._clock.seconds() + random.uniform(1, 3) * LOOK_SECONDS

    def run(self, stopping: Callable[[], bool]) -> None:
        """Until told to stop."""
        while not stopping():
            self.step()
            time.sleep(NAP_SECONDS)

    def step(self) -> None:
        """Every duty whose time has come."""
        now = self._clock.seconds()
        if now >= self._checkpoint_at:
            self._checkpoint_at = now + self._safely(self._checkpoint)
        if now >= self._operations_at:
            self._operations_at = now + self._safely(self._operations)
        if now >= self._audit_at:
            self._audit_at = now + self._safely(self._audit)

    def _safely(self, duty: Callable[[], float]) -> float:
        """Seconds until its next time; an error that nobody expected is told, and ends nothing."""
        try:
            return duty()
        except Unavailable:
            return AWAY_SECONDS
        except Exception:
            log.exception("the bookkeeper met an error that it did not expect; it goes on in a moment")
            return AWAY_SECONDS

    def _checkpoint(self) -> float:
        result = self._checkpointer.run()
        if result.outcome is Outcome.DONE:
            log.debug("checkpoint: %d deaths counted in %d steps", result.counted, result.steps)
        wait = result.due_in or self._parts.settings.dlq_summary_interval
        return min(wait, LOOK_SECONDS) * random.uniform(0.9, 1.1)

    def _operations(self) -> float:
        """As many as there is time for, in any order: a checkpoint must not wait for all of them."""
        ends = time.monotonic() + OPERATION_SECONDS
        waiting = bulk.unfinished(self._parts)
        for operation_id in random.sample(waiting, len(waiting)):
            bulk.run(self._parts, operation_id, max(0.0, ends - time.monotonic()))
            if time.monotonic() >= ends:
                break
        return OPERATION_LOOK_SECONDS

    def _audit(self) -> float:
        self._auditor.run_when_due()
        return AUDIT_LOOK_SECONDS
