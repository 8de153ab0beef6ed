"""Acts on all of a consumer's dead, or on many of them: an operation, worked off a chunk at a time.

Whoever holds its lock works on it: the request that asked for it for a few seconds, then any instance.
"""

import logging
import time
from collections.abc import Callable

from broker.domain.dead_selection import DeadAct, DeadFilter, OperationState
from broker.domain.errors import Invalid, NotFound
from broker.domain.ids import is_xid
from broker.domain.pages import Cursor, Page
from broker.domain.registry import Consumer
from broker.operations.dead_chunks import Chunk, run_chunk
from broker.operations.dlq_status import read_status
from broker.operations.locking import LockLost, NamedLock
from broker.operations.parts import Parts
from broker.store import dead_ranges
from broker.store import operations as store
from broker.store.engine import Connection
from broker.store.moments import SqlTime
from broker.store.operations import NO_ERRAND, Errand, Operation

PAGE_KEY = store.KEY
LOCK_SECONDS = 30.0
RENEW_SECONDS = 5.0
log = logging.getLogger(__name__)


def start(
    parts: Parts,
    consumer: Consumer,
    act: DeadAct,
    wanted: DeadFilter,
    actor: str,
    force: bool = False,
    errand: Errand = NO_ERRAND,
) -> Operation:
    """Write down what is to be done to those that are dead now; nothing is done yet."""
    if act is DeadAct.MOVE and consumer.dead_channel is None:
        raise Invalid.field("deadChannel", "the consumer has none of its own to move to; set it first")
    total = None if wanted.to_json() or errand.waiting_at is not None else _dead_now(parts, consumer)
    total = total if total is None or errand.limit is None else min(total, errand.limit)
    operation_id = parts.ids.new()

    def work(connection: Connection) -> Operation:
        known = store.find(connection, operation_id)
        if known is not None:
            return known
        moment = SqlTime(connection).moment
        until = max(moment, dead_ranges.latest(connection, consumer.key) or moment)
        operation = Operation(operation_id, act, OperationState.RUNNING, consumer.key, consumer.channel_id, consumer.id,
                              until, wanted.to_json(), force, None, total, 0, 0, actor, moment, moment,
                              errand)  # fmt: skip
        store.create(connection, operation)
        return operation

    return parts.database.write("start operation", work, repeatable=True)


def run(parts: Parts, operation_id: str, seconds: float, watch: Callable[[int], None] = lambda done: None) -> Operation:
    """Work on it for so long, or until it is done; not at all while another does. `watch` hears of each chunk."""
    lock = NamedLock(parts, f"operation-{operation_id}", LOCK_SECONDS)
    if lock.acquire():
        try:
            _work(parts, lock, operation_id, time.monotonic() + seconds, watch)
        except LockLost:
            log.warning("operation %s was taken over by another instance", operation_id)
        finally:
            lock.release()
    return get_operation(parts, operation_id)


def get_operation(parts: Parts, operation_id: str, consumer: Consumer | None = None) -> Operation:
    """One of them, or of this consumer's."""
    found = None
    if is_xid(operation_id):
        found = parts.database.read("get operation", lambda c: store.find(c, operation_id))
    if found is None or (consumer is not None and found.consumer_key != consumer.key):
        raise NotFound(f"There is no operation {operation_id!r}.")
    return found


def list_operations(parts: Parts, cursor: Cursor | None, limit: int) -> Page[Operation]:
    """All of them, newest first."""
    return parts.database.read("list operations", lambda c: store.page(c, cursor, limit))


def cancel(parts: Parts, operation_id: str) -> Operation:
    """Stop it after the chunk it is at; what is done stays done."""
    get_operation(parts, operation_id)
    parts.database.write("cancel operation", lambda c: store.end(c, operation_id, OperationState.CANCELLED))
    return get_operation(parts, operation_id)


def unfinished(parts: Parts, most: int = 100) -> list[str]:
    """Operations that wait for somebody to work on them."""
    return list(parts.database.read("look for operations", lambda c: store.running(c, most)))


def _dead_now(parts: Parts, consumer: Consumer) -> int:
    return sum(one.count.dead for one in read_status(parts, consumer.channel_id, consumer.id))


def _work(parts: Parts, lock: NamedLock, operation_id: str, ends: float, watch: Callable[[int], None]) -> None:
    renew_at, done = time.monotonic() + RENEW_SECONDS, 0
    while True:
        chunk: Chunk = parts.database.write(
            "run operation", lambda c: run_chunk(parts, c, lock, operation_id), repeatable=True
        )
        done += chunk.changed
        if chunk.changed and chunk.happened is not None:
            parts.tally.count(chunk.happened, "bulk", chunk.changed)
        watch(done)
        if chunk.last:
            _tell(get_operation(parts, operation_id))
            return
        if time.monotonic() >= ends:
            return
        if time.monotonic() >= renew_at:
            lock.renew()
            renew_at = time.monotonic() + RENEW_SECONDS


def _tell(one: Operation) -> None:
    """The audit log: who, what, how many."""
    whose = f"{one.channel_id}/{one.consumer_id}"
    log.info("%s asked to %s the dead of %s: %s, %d done, %d skipped",
             one.actor, one.act.value, whose, one.state.value, one.done, one.skipped)  # fmt: skip
