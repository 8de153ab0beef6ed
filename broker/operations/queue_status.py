"""How many jobs wait for every consumer, since when, and how many are out, at a cost that does not grow with them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker.operations.parts import Parts
from broker.store.dlq_status import Place
from broker.store.engine import Connection
from broker.store.job_counts import inflight
from broker.store.lanes import Lane, is_slow, mend_plan, waiting_lanes
from broker.store.queues import depths

COUNTED_EACH, COUNTED_IN_ALL, LEAST_EACH = 100_000, 400_000, 100


@dataclass(frozen=True, slots=True)
class QueueStanding:
    """A consumer's jobs that wait (up to COUNTED_EACH), how long the longest due has been due, and those in flight."""

    place: Place
    depth: int
    oldest_due_seconds: float
    inflight: int


def read_queues(parts: Parts, places: Sequence[Place]) -> list[QueueStanding]:
    """The queues of these consumers."""
    keys = {one.key for one in places}
    waiting: dict[int, list[int]] = {}
    due: dict[int, float] = {}
    for lane in (one for one in _lanes(parts) if one.consumer_key in keys):
        waiting.setdefault(lane.consumer_key, []).append(lane.priority)
        due[lane.consumer_key] = max(due.get(lane.consumer_key, 0.0), -lane.due_in)
    counts = parts.database.read("count the waiting", lambda c: _depths(c, waiting))
    out = parts.database.read("count the leased", lambda c: inflight(c, sorted(keys)))
    return [QueueStanding(one, counts.get(one.key, 0), due.get(one.key, 0.0), out[one.key].count) for one in places]


def _lanes(parts: Parts) -> list[Lane]:
    """Where no engine works, nobody else sees that old statistics make this slow."""
    began = time.perf_counter()
    lanes = waiting_lanes(parts.database)
    seconds = time.perf_counter() - began
    if is_slow(seconds, len(lanes)):
        parts.database.write("mend plan", lambda c: mend_plan(c, seconds, len(lanes)))
    return lanes


def _depths(connection: Connection, waiting: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """A few of each; then more of those that have more, who share what may be counted in all."""
    found = depths(connection, waiting, LEAST_EACH)
    more = {key: waiting[key] for key, count in found.items() if count == LEAST_EACH}
    most = max(LEAST_EACH, min(COUNTED_EACH, COUNTED_IN_ALL // max(1, len(more))))
    return found | depths(connection, more, most)
