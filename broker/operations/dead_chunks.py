"""A chunk of a bulk act on dead jobs: one transaction that changes them and the summary together.

Lock order: the named lock's row, the operation's row, the summary row, then the jobs.
"""

import logging
from datetime import datetime
from typing import NamedTuple

from broker.domain.dead_selection import DeadAct, DeadFilter, OperationState, parse_dead_filter
from broker.domain.states import JobStatus
from broker.operations.locking import NamedLock
from broker.operations.moved_dead import replay_step
from broker.operations.parts import Parts
from broker.operations.tally import Happened
from broker.store import dead_ranges, deaths, moved_dead, operations, summary, targets
from broker.store.dead_ranges import Spot, Stretch
from broker.store.engine import Again, Connection
from broker.store.moments import SqlTime, as_time
from broker.store.operations import Operation
from broker.store.summary import BEGINNING, Total
from broker.store.targets import RulesRow

MOVED_AT_ONCE = 500
_START = Spot(BEGINNING, "")
_EFFECTS = {
    DeadAct.REQUEUE: (Total.REQUEUED, Happened.REQUEUED),
    DeadAct.DELETE: (Total.DELETED, Happened.DELETED),
    DeadAct.ARCHIVE: (Total.ARCHIVED, Happened.ARCHIVED),
    DeadAct.MOVE: (Total.MOVED, Happened.MOVED),
}
_EVENTS = {DeadAct.REQUEUE: (JobStatus.QUEUED, "requeued"), DeadAct.ARCHIVE: (JobStatus.ARCHIVED, "archived")}
log = logging.getLogger(__name__)


class Chunk(NamedTuple):
    """What a chunk did, and whether it was the last."""

    changed: int
    last: bool
    happened: Happened | None = None


def run_chunk(parts: Parts, connection: Connection, lock: NamedLock, operation_id: str) -> Chunk:
    """The next chunk of an operation; none when it does not run any more."""
    lock.require(connection)
    operation = operations.find(connection, operation_id, lock=True)
    if operation is None or operation.state is not OperationState.RUNNING:
        return Chunk(0, True)
    checked_at = _locked(connection, operation)
    if checked_at is None or operation.left == 0:
        return _end(connection, operation)
    stretch = None if operation.moved_after is not None else _next_stretch(parts, connection, operation, checked_at)
    if stretch is not None:
        return _take(parts, connection, operation, stretch)
    step = replay_step(parts, connection, operation)
    if step is None:
        return _end(connection, operation)
    operations.advance_moved(connection, operation.id, *step)
    return Chunk(step.done, False, Happened.REQUEUED)


def _locked(connection: Connection, operation: Operation) -> datetime | None:
    """The summary rows of all who take part; when the consumer was last counted, None when one of them is gone."""
    target = operation.errand.target
    keys = {operation.consumer_key, *([] if target is None else [target.key])}
    found = summary.lock(connection, keys)
    return found[operation.consumer_key] if found.keys() == keys else None


def _end(connection: Connection, operation: Operation) -> Chunk:
    operations.end(connection, operation.id, OperationState.DONE)
    return Chunk(0, True)


def _take(parts: Parts, connection: Connection, operation: Operation, stretch: Stretch) -> Chunk:
    """What is done to a stretch, and to the summary with it. More than may be done: some died just now in between."""
    act = _act_of(operation)
    total, happened = _EFFECTS[act]
    changed = _apply(parts, connection, operation, act, stretch)
    if operation.left is not None and changed > operation.left:
        raise Again("more have died in this stretch since it was cut")
    counted = changed if stretch.counted else 0
    if counted == stretch.length:
        dead_ranges.clear(connection, stretch)
    summary.forget(connection, stretch.consumer_key, counted, changed - counted, total)
    operations.advance(connection, operation.id, stretch.last, changed, max(0, stretch.length - changed))
    return Chunk(changed, False, happened)


def _act_of(operation: Operation) -> DeadAct:
    """A replay is a requeue of the retained, or moves them to its target."""
    if operation.act is not DeadAct.REPLAY:
        return operation.act
    return DeadAct.REQUEUE if operation.errand.target is None else DeadAct.MOVE


def _next_stretch(parts: Parts, connection: Connection, operation: Operation, checked_at: datetime) -> Stretch | None:
    wanted = parse_dead_filter(operation.filter)
    after = operation.after or _first(wanted)
    until = operation.until if wanted.died_before is None else min(operation.until, wanted.died_before)
    most = MOVED_AT_ONCE if _act_of(operation) is DeadAct.MOVE else parts.settings.dlq_chunk
    found = dead_ranges.find(connection, operation.consumer_key, after, until, checked_at, most)
    if found is None:
        return None
    deletable_only = operation.act is DeadAct.DELETE and not operation.force
    condition = dead_ranges.condition_of(wanted, deletable_only)
    stretch = Stretch(operation.consumer_key, after, *found, *condition)
    return stretch if operation.left is None else dead_ranges.cut(connection, stretch, operation.left)


def _first(wanted: DeadFilter) -> Spot:
    return _START if wanted.died_after is None else Spot(wanted.died_after, "")


def _apply(parts: Parts, connection: Connection, operation: Operation, act: DeadAct, stretch: Stretch) -> int:
    if act is DeadAct.DELETE:
        return dead_ranges.delete(connection, stretch)
    if act is DeadAct.MOVE:
        return _send(parts, connection, operation, stretch)
    time, (status, event) = SqlTime(connection), _EVENTS[act]
    dead_ranges.tell(connection, time, stretch, parts.ids.new(), event, operation.actor)
    return dead_ranges.change(connection, time, stretch, status)


def _send(parts: Parts, connection: Connection, operation: Operation, stretch: Stretch) -> int:
    """To the target, or to the dead channel that the consumer has now; where there is none, they stay."""
    rules = targets.read_rules(connection, [stretch.consumer_key])[stretch.consumer_key]
    arrival = _arrival(connection, operation, rules)
    if arrival is None:
        log.warning("the dead of consumer %s stay where they are: it has no dead channel", rules.consumer_id)
        return 0
    time, replays = SqlTime(connection), int(operation.act is DeadAct.REPLAY)
    if replays:
        dead_ranges.tell(connection, time, stretch, parts.ids.new(), "replayed", operation.actor)
    whose = str(rules.channel_id), str(rules.consumer_id)
    moves = [
        deaths.Move(one.id, one.messageId, *whose, one.errorType or "", one.errorText or "", one.retryAttemptCount,
                    parts.ids.new(), parts.ids.new(), failed_at=as_time(one.deadAt), replays=replays)
        for one in dead_ranges.rows(connection, stretch)
    ]  # fmt: skip
    deaths.move(connection, time, moves, *arrival)
    return len(moves)


def _arrival(connection: Connection, operation: Operation, rules: RulesRow) -> tuple[int, int] | None:
    """The consumer that gets them, and its channel, by their keys."""
    if operation.errand.target is not None:
        there = moved_dead.home(connection, operation.errand.target.key)
        return None if there is None else (there.key, there.channel_key)
    dead = rules.dead_channel_key
    found = None if dead is None else targets.built_in_consumer(connection, dead)
    return None if dead is None or found is None else (found[0], dead)
