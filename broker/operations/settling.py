"""Failures of locked jobs are settled: each is retried, dies, or is parked, by the rules of this very moment."""

import logging
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from broker.domain.dead_letters import DeadRules, Fate, fate_of, to_archive
from broker.domain.decision import Die, Retry, Standing, decide_failure
from broker.domain.errors import BrokerError
from broker.domain.failures import Category, Failure, network_failure
from broker.domain.fingerprints import fingerprint
from broker.domain.states import DeadReason
from broker.operations.dead_channels import ensure_dead_channel
from broker.operations.parts import Parts
from broker.operations.rules import dead_rules, retry_rules
from broker.store import deaths, finishing, summary, targets
from broker.store.engine import Connection, Duplicate
from broker.store.finishing import Change, Event, Held
from broker.store.moments import SqlTime

RETRYING, DEAD, MOVED, DISCARDED, PARKED = "retrying", "dead", "moved", "discarded", "parked"
_RESULTS = {Fate.RETAIN: DEAD, Fate.MOVE: MOVED, Fate.DISCARD: DISCARDED, Fate.PARK: PARKED}
T = TypeVar("T")
TRIES = 3
MOST_COUNTED = 32_767
log = logging.getLogger(__name__)


class NoDeadChannel(Exception):
    """A consumer moves its dead, but has no channel to move them to yet."""

    def __init__(self, channel_id: str, consumer_id: str) -> None:
        super().__init__(f"{channel_id}/{consumer_id}")
        self.channel_id, self.consumer_id = channel_id, consumer_id


def moving(parts: Parts, attempt: Callable[[bool], T]) -> T:
    """Settle failures; a dead channel that is missing is made first. When none can be made the dead are retained:
    better in the wrong place than nowhere. `attempt` is told whether it may move."""
    for _ in range(TRIES):
        try:
            return attempt(True)
        except NoDeadChannel as missing:
            if not _made(parts, missing):
                break
    return attempt(False)


def _made(parts: Parts, missing: NoDeadChannel) -> bool:
    try:
        ensure_dead_channel(parts, missing.channel_id, missing.consumer_id)
    except (BrokerError, Duplicate) as error:
        log.error("no dead channel for consumer %s: %s; its dead are retained", missing, error)
        return isinstance(error, Duplicate)
    return True


class Case(NamedTuple):
    """A locked job and its failure; without one it was parked, and keeps the failure it has."""

    job: Held
    failure: Failure | None
    actor: str
    rejected: bool = False
    retry_at: datetime | None = None
    reason: DeadReason | None = None


class Settling:
    """One transaction's failures. Made before the jobs are locked: summary rows are locked first where room counts."""

    def __init__(
        self, parts: Parts, connection: Connection, time: SqlTime, consumer_keys: Iterable[int], may_move: bool = True
    ) -> None:
        self._parts, self._connection, self._time, self._may_move = parts, connection, time, may_move
        self._rules = targets.read_rules(connection, consumer_keys)
        self._dead_rules = {key: self._dead_rules_of(row) for key, row in sorted(self._rules.items())}
        self._dead_counts = {key: self._count(key, rules) for key, rules in self._dead_rules.items()}
        self._changes: list[Change] = []
        self._dying: set[int] = set()
        self._events: list[Event] = []
        self._discards: list[str] = []
        self._moves: dict[int, list[deaths.Move]] = {}
        self.results: dict[str, str] = {}
        self.deaths: dict[str, str] = {}
        self.discarded: list[str] = []
        self.paused: list[int] = []

    def settle(self, cases: Sequence[Case]) -> None:
        """Decide over all and write it down, in a handful of statements."""
        known = [case for case in cases if case.job.consumer_key in self._rules]
        overrides = finishing.message_overrides(self._connection, sorted({case.job.message_key for case in known}))
        for case in known:
            self._settle(case, overrides.get(case.job.message_key, {}))
        self._write()

    def _settle(self, case: Case, overrides: dict[str, object]) -> None:
        failure = case.failure or _failure_of(case.job)
        if case.failure is not None:
            self._tell(case, "failed", failure, failure.text)
        decision = self._decide(case, failure, overrides)
        if isinstance(decision, Retry):
            self._retry(case, failure, decision)
        else:
            self._die(case, failure, decision)
        if failure.gone and targets.pause(self._connection, case.job.consumer_key):
            self.paused.append(case.job.consumer_key)
            log.warning("consumer %s answered 410: its deliveries are paused", case.job.consumer_key)

    def _decide(self, case: Case, failure: Failure, overrides: dict[str, object]) -> Retry | Die:
        key, row = case.job.consumer_key, self._rules[case.job.consumer_key]
        rules = retry_rules(self._parts.settings, overrides, row.overrides, row.channel_overrides)  # type: ignore[arg-type]
        dead, count = self._dead_rules[key], self._dead_counts[key]
        reason = case.reason or (None if case.failure else DeadReason(str(case.job.dead_reason)))
        if reason is not None:
            policy = rules.policy if rules.policy != "auto" else "never"
            return Die(reason, fate_of(dead, reason, failure.category, count), policy, rules.max_retries)
        standing = Standing(case.job.retries_made, self._is_expired(case.job), case.rejected, count)
        return decide_failure(failure, rules, dead, standing, random.random())

    def _retry(self, case: Case, failure: Failure, decision: Retry) -> None:
        wanted = case.retry_at
        delay = decision.delay if wanted is None else max(0.0, (wanted - self._time.moment).total_seconds())
        made = min(case.job.retries_made + 1, MOST_COUNTED)
        self._change(case.job, failure, delay, made, None, decision)
        self.results[case.job.id] = RETRYING

    def _die(self, case: Case, failure: Failure, decision: Die) -> None:
        job, key = case.job, case.job.consumer_key
        self.results[job.id] = _RESULTS[decision.fate]
        if decision.fate is Fate.PARK:
            wait = self._parts.settings.retry_interval
            self._change(job, failure, wait, job.retries_made, decision.reason, decision)
            return
        self.deaths[job.id] = decision.reason
        if decision.fate is Fate.RETAIN:
            self._dead_counts[key] += 1
            self._dying.add(key)
            self._change(job, failure, None, job.retries_made, decision.reason, decision)
            self._tell(case, "died", failure, decision.reason)
        elif decision.fate is Fate.MOVE:
            self._move(case, failure, decision)
        else:
            self._discards.append(job.id)
            self.discarded.append(decision.reason)
            log.warning("job %s was discarded: %s, %s %s", job.id, decision.reason, failure.type, failure.text)

    def _move(self, case: Case, failure: Failure, decision: Die) -> None:
        row, job = self._rules[case.job.consumer_key], case.job
        if row.dead_channel_key is None:
            raise NoDeadChannel(str(row.channel_id), str(row.consumer_id))
        new_job, new_message = self._parts.ids.block(2)
        self._moves.setdefault(row.dead_channel_key, []).append(
            deaths.Move(job.id, job.message_key, str(row.channel_id), str(row.consumer_id), failure.type, failure.text,
                        job.retries_made, new_job, new_message)
        )  # fmt: skip
        self._tell(case, "moved", failure, decision.reason)

    def _change(
        self, job: Held, failure: Failure, delay: float | None, made: int, reason: DeadReason | None, by: Retry | Die
    ) -> None:
        self._changes.append(
            Change(job.id, delay, made, reason, by.policy, by.max_retries, failure.type, failure.category, failure.text,
                   fingerprint(failure.type, failure.text))
        )  # fmt: skip

    def _tell(self, case: Case, event: str, failure: Failure, detail: str) -> None:
        self._events.append(
            Event(case.job.id, self._parts.ids.new(), event, case.actor, failure.type, failure.category, detail)
        )

    def _write(self) -> None:
        self._write_changes()
        finishing.insert_events(self._connection, self._time.moment, self._events)
        for channel_key, moves in self._moves.items():
            self._move_all(channel_key, moves)
        deaths.discard(self._connection, self._discards)
        for key, rules in self._dead_rules.items():
            surplus = to_archive(rules, self._dead_counts[key]) if rules.counts_room else 0
            if surplus:
                deaths.archive_oldest(self._connection, self._time, key, surplus)

    def _write_changes(self) -> None:
        if not self._dying:
            finishing.write_changes(self._connection, self._time, self._changes)
            return
        with summary.stamped(self._connection, self._dying, self._parts.settings.dlq_settle) as died_at:
            finishing.write_changes(self._connection, self._time, self._changes, died_at)

    def _move_all(self, channel_key: int, moves: Sequence[deaths.Move]) -> None:
        found = targets.built_in_consumer(self._connection, channel_key)
        if found is None:
            raise NoDeadChannel(moves[0].source_channel, moves[0].source_consumer)
        deaths.move(self._connection, self._time, moves, found[0], channel_key)

    def _dead_rules_of(self, row: targets.RulesRow) -> DeadRules:
        """The dead of a dead channel stay where they are, and those for whom no dead channel can be made."""
        rules = dead_rules(self._parts.settings, row.overrides, row.channel_overrides)
        stay = rules.mode == Fate.MOVE and (row.built_in or not self._may_move)
        return replace(rules, mode=Fate.RETAIN.value) if stay else rules

    def _count(self, key: int, rules: DeadRules) -> int:
        if not rules.counts_room:
            return 0
        summary.lock(self._connection, [key])
        return deaths.count_dead(self._connection, key, rules.max_size + 1)

    def _is_expired(self, job: Held) -> bool:
        return job.expires_at is not None and job.expires_at <= self._time.moment


def _failure_of(job: Held) -> Failure:
    """What a parked job failed of; one that never was tried is dead by its reason alone."""
    if job.error_type is None:
        return network_failure(str(job.dead_reason), "It was dead from the start.")
    return Failure(job.error_type, Category(str(job.error_category)), job.error_text or "")
