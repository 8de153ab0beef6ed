"""Operators act on jobs by hand: several at once, each with its own outcome, a chunk of them in one transaction."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from broker.domain.acts import DROP, FAIL, RETRY, ActRequest, why_not
from broker.domain.states import DeadReason, JobStatus
from broker.domain.transitions import may_become
from broker.operations.jobs import resolve
from broker.operations.parts import Parts
from broker.operations.rules import max_retries_of
from broker.operations.tally import Happened, Tally
from broker.store import job_acts as store
from broker.store import summary
from broker.store.engine import Connection
from broker.store.finishing import Event, insert_events
from broker.store.job_acts import Locked
from broker.store.moments import SqlTime
from broker.store.summary import Total

CHUNK = 500
log = logging.getLogger(__name__)


class ActResult(StrEnum):
    """How an act ended for one job."""

    DONE = "done"
    SKIPPED = "skipped"
    NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class ActOutcome:
    """A job, named by its id as far as that is known, and what became of the act; a skipped one has a reason."""

    job_id: str
    result: ActResult
    reason: str | None = None


def act_on_jobs(parts: Parts, wanted: ActRequest) -> list[ActOutcome]:
    """Every job once, in the order given. A start of an id that fits several refuses all before anything is done."""
    resolved = parts.database.read("resolve job ids", lambda c: _resolved(c, wanted.jobs))
    ids = sorted(one for one in resolved.values() if one is not None)
    outcomes: dict[str, ActOutcome] = {}
    for start in range(0, len(ids), CHUNK):
        work = _Chunk(parts, wanted, ids[start : start + CHUNK])
        outcomes.update(parts.database.write(f"{wanted.act.name} jobs", work))
        work.tell(parts.tally)
    told = [outcomes.get(one or name, _not_found(one or name)) for name, one in resolved.items()]
    _tell(wanted, told)
    return told


class _Chunk:
    """One transaction: summary rows first, then jobs by id, then what is written on them."""

    def __init__(self, parts: Parts, wanted: ActRequest, ids: Sequence[str]) -> None:
        self._parts, self._wanted, self._ids = parts, wanted, ids
        self._dead = self._done = 0

    def __call__(self, connection: Connection) -> dict[str, ActOutcome]:
        owners = store.consumers_of(connection, self._ids)
        if self._wanted.act is not FAIL:
            summary.lock(connection, owners.values())
        jobs = store.lock(connection, list(owners))
        refused = dict(self._refused(connection, jobs))
        taken = [one for one in jobs if one.id not in refused]
        self._dead, self._done = sum(one.status is JobStatus.DEAD for one in taken), len(taken)
        self._write(connection, taken)
        return {one.id: _outcome(one.id, refused.get(one.id)) for one in jobs}

    def tell(self, tally: Tally) -> None:
        """After the commit: what left the dead, or came to them."""
        if self._wanted.act is FAIL and self._done:
            tally.count(Happened.DIED, DeadReason.FORCED, self._done)
        elif self._dead:
            tally.count(Happened.DELETED if self._wanted.act is DROP else Happened.REQUEUED, "hand", self._dead)

    def _refused(self, connection: Connection, jobs: Sequence[Locked]) -> Iterator[tuple[str, str]]:
        leased = store.valid_leases(connection, [one.lease_token for one in jobs if one.lease_token is not None])
        act, force = self._wanted.act, self._wanted.force
        for one in jobs:
            reason = why_not(act, one.status, one.lease_token in leased, force, one.retries_made > 0)
            if reason is None and act.target not in (None, one.status) and not may_become(one.status, act.target):
                reason = f"it cannot become {act.target.name.lower()}"
            if reason is not None:
                yield one.id, reason

    def _write(self, connection: Connection, jobs: Sequence[Locked]) -> None:
        if not jobs:
            return
        target = self._wanted.act.target
        _forget_dead(connection, jobs, Total.DELETED if target is None else Total.REQUEUED)
        if target is None:
            store.drop(connection, jobs)
            return
        time = SqlTime(connection)
        if self._wanted.act is FAIL:
            self._kill(connection, jobs)
        else:
            store.become(connection, time, [one.id for one in jobs], target)
        if self._wanted.act is RETRY:
            store.expect_expiry(connection, time, jobs)
        insert_events(connection, time.moment, self._events(jobs))

    def _kill(self, connection: Connection, jobs: Sequence[Locked]) -> None:
        """The limit that applies now is written on them: whether retries were left decides who may delete them."""
        limits = max_retries_of(self._parts, connection, [(one.consumer_key, one.message_key) for one in jobs])
        keys = {one.consumer_key for one in jobs}
        with summary.stamped(connection, keys, self._parts.settings.dlq_settle) as died_at:
            for limit in sorted(set(limits)):
                ids = [one.id for one, its in zip(jobs, limits, strict=True) if its == limit]
                store.kill(connection, died_at, ids, limit)

    def _events(self, jobs: Sequence[Locked]) -> list[Event]:
        ids = self._parts.ids.block(len(jobs))
        event, actor = self._wanted.act.event, self._wanted.actor
        return [
            Event(one.id, event_id, event, actor, detail=f"by hand, it was {one.status.name.lower()}")
            for one, event_id in zip(jobs, ids, strict=True)
        ]


def _resolved(connection: Connection, names: Sequence[str]) -> dict[str, str | None]:
    """Each name with its id, a job that is named twice once."""
    found: dict[str, str | None] = {}
    for at, name in enumerate(names):
        job_id = resolve(connection, f"jobs[{at}]", name)
        if job_id is None or job_id not in found.values():
            found.setdefault(name, job_id)
    return found


def _forget_dead(connection: Connection, jobs: Sequence[Locked], total: Total) -> None:
    dead = [one for one in jobs if one.status is JobStatus.DEAD]
    for key in sorted({one.consumer_key for one in dead}):
        died_at = [one.status_changed_at for one in dead if one.consumer_key == key]
        summary.take_back(connection, key, died_at, total)


def _outcome(job_id: str, reason: str | None) -> ActOutcome:
    return ActOutcome(job_id, ActResult.DONE if reason is None else ActResult.SKIPPED, reason)


def _not_found(name: str) -> ActOutcome:
    return ActOutcome(name, ActResult.NOT_FOUND)


def _tell(wanted: ActRequest, outcomes: Sequence[ActOutcome]) -> None:
    """The audit log: who, what, how many."""
    counts = [sum(one.result is result for one in outcomes) for result in ActResult]
    log.info("%s asked to %s jobs%s: %d %s, %d skipped, %d not found", wanted.actor, wanted.act.name,
             " by force" if wanted.force else "", counts[0], wanted.act.past, *counts[1:])  # fmt: skip
