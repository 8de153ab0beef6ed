"""A chunk of a bulk act on dead jobs: one transaction that changes them and the summary together.

Lock order: the named lock's row, the operation's row, the summary row, then the jobs.
"""

import logging
from typing import NamedTuple

from broker.domain.dead_selection import DeadAct, DeadFilter, OperationState, parse_dead_filter
from broker.domain.states import JobStatus
from broker.operations.locking import NamedLock
from broker.operations.parts import Parts
from broker.operations.tally import Happened
from broker.store import dead_ranges, deaths, operations, summary, targets
from broker.store.dead_ranges import Spot, Stretch
from broker.store.engine import Connection
from broker.store.moments import SqlTime
from broker.store.operations import Operation
from broker.store.summary import BEGINNING, Total

MOVED_AT_ONCE = 500
_START = Spot(BEGINNING, "")
_TOTALS = {DeadAct.REQUEUE: Total.REQUEUED, DeadAct.DELETE: Total.DELETED, DeadAct.ARCHIVE: Total.ARCHIVED,
           DeadAct.MOVE: Total.MOVED}  # fmt: skip
HAPPENED = {DeadAct.REQUEUE: Happened.REQUEUED, DeadAct.DELETE: Happened.DELETED, DeadAct.ARCHIVE: Happened.ARCHIVED,
            DeadAct.MOVE: Happened.MOVED}  # fmt: skip
_EVENTS = {DeadAct.REQUEUE: (JobStatus.QUEUED, "requeued"), DeadAct.ARCHIVE: (JobStatus.ARCHIVED, "archived")}
log = logging.getLogger(__name__)


class Chunk(NamedTuple):
    """What a chunk did, and whether it was the last."""

    changed: int
    last: bool
    act: DeadAct | None = None


def run_chunk(parts: Parts, connection: Connection, lock: NamedLock, operation_id: str) -> Chunk:
    """The next chunk of an operation; none when it does not run any more."""
    lock.require(connection)
    operation = operations.find(connection, operation_id, lock=True)
    if operation is None or operation.state is not OperationState.RUNNING:
        return Chunk(0, True)
    stretch = _next_stretch(parts, connection, operation)
    if stretch is None:
        operations.end(connection, operation.id, OperationState.DONE)
        return Chunk(0, True)
    changed = _apply(parts, connection, operation, stretch)
    counted = changed if stretch.counted else 0
    if counted == stretch.length:
        dead_ranges.clear(connection, stretch)
    summary.forget(connection, stretch.consumer_key, counted, changed - counted, _TOTALS[operation.act])
    operations.advance(connection, operation.id, stretch.last, changed, max(0, stretch.length - changed))
    return Chunk(changed, False, operation.act)


def _next_stretch(parts: Parts, connection: Connection, operation: Operation) -> Stretch | None:
    wanted = parse_dead_filter(operation.filter)
    checked_at = summary.lock(connection, [operation.consumer_key]).get(operation.consumer_key)
    if checked_at is None:
        return None
    after = operation.after or _first(wanted)
    until = operation.until if wanted.died_before is None else min(operation.until, wanted.died_before)
    most = MOVED_AT_ONCE if operation.act is DeadAct.MOVE else parts.settings.dlq_chunk
    found = dead_ranges.find(connection, operation.consumer_key, after, until, checked_at, most)
    if found is None:
        return None
    deletable_only = operation.act is DeadAct.DELETE and not operation.force
    condition = dead_ranges.condition_of(wanted, deletable_only)
    return Stretch(operation.consumer_key, after, *found, *condition)


def _first(wanted: DeadFilter) -> Spot:
    return _START if wanted.died_after is None else Spot(wanted.died_after, "")


def _apply(parts: Parts, connection: Connection, operation: Operation, stretch: Stretch) -> int:
    if operation.act is DeadAct.DELETE:
        return dead_ranges.delete(connection, stretch)
    if operation.act is DeadAct.MOVE:
        return _move(parts, connection, stretch)
    time, (status, event) = SqlTime(connection), _EVENTS[operation.act]
    dead_ranges.tell(connection, time, stretch, parts.ids.new(), event, operation.actor)
    return dead_ranges.change(connection, time, stretch, status)


def _move(parts: Parts, connection: Connection, stretch: Stretch) -> int:
    """To the dead channel that the consumer has now; when it has none, they stay."""
    rules = targets.read_rules(connection, [stretch.consumer_key])[stretch.consumer_key]
    arrival = None if rules.dead_channel_key is None else targets.built_in_consumer(connection, rules.dead_channel_key)
    if rules.dead_channel_key is None or arrival is None:
        log.warning("the dead of consumer %s stay where they are: it has no dead channel", rules.consumer_id)
        return 0
    moves = [
        deaths.Move(one.id, one.messageId, str(rules.channel_id), str(rules.consumer_id), one.errorType or "",
                    one.errorText or "", one.retryAttemptCount, *parts.ids.block(2))
        for one in dead_ranges.rows(connection, stretch)
    ]  # fmt: skip
    deaths.move(connection, SqlTime(connection), moves, arrival[0], rules.dead_channel_key)
    return len(moves)
