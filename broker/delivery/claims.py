"""Claims jobs, consumer after consumer, each as much as it can take."""

import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import NamedTuple

from broker.delivery.outlets import Outlet
from broker.domain.work import ClaimedJob
from broker.operations.parts import Parts
from broker.store.claiming import SEVERAL_CONSUMERS, due_ids, lease_jobs, read_claimed
from broker.store.engine import Connection
from broker.store.lanes import Lane, mend_plan, waiting_lanes
from broker.store.moments import SqlTime

POLL_SECONDS = 0.06
BUSY_RESCAN_SECONDS = 0.2
POLL_SHARE = 25
SHORTEST_POLL = 0.002
COSTS_KEPT = 4
BATCH = 200
LANES_AT_ONCE = 32
MEND_SECONDS = 60.0


Place = tuple[int, int]


class Batch(NamedTuple):
    """Jobs that were claimed together."""

    token: str
    jobs: list[ClaimedJob]
    seconds: float


class Claims:
    """Knows which lanes are due; each consumer's lanes go by priority, and consumers take turns."""

    def __init__(self, parts: Parts, owner: str) -> None:
        self._parts, self._owner = parts, owner
        self._lanes: dict[int, deque[int]] = {}
        self._turns: OrderedDict[int, None] = OrderedDict()
        self._idle_scan_at = self._busy_scan_at = self._mend_at = 0.0
        self._costs: deque[float] = deque(maxlen=COSTS_KEPT)

    @property
    def idle(self) -> bool:
        """Whether the last scan left nothing to claim."""
        return not self._turns

    @property
    def next_scan(self) -> float:
        """When the lanes are to be looked at again: sooner when what was found has been claimed."""
        return self._idle_scan_at if self.idle else self._busy_scan_at

    def look_now(self) -> None:
        """Look at the lanes at the next occasion."""
        self._idle_scan_at = self._busy_scan_at = 0.0

    def scan(self, now: float, outlets: Mapping[int, Outlet]) -> None:
        """Find the lanes that are due, when it is time to; the dearer a look is, the rarer."""
        if now < self.next_scan:
            return
        began = time.perf_counter()
        lanes = self._parts.database.read("scan lanes", waiting_lanes)
        self._costs.append(time.perf_counter() - began)
        due = [lane for lane in lanes if lane.due_in <= 0 and lane.consumer_key in outlets]
        self._take(due)
        pause = max(POLL_SECONDS, min(self._costs) * POLL_SHARE)
        ahead = min((lane.due_in for lane in lanes if lane.due_in > 0), default=pause)
        self._idle_scan_at = now + min(pause, max(ahead, SHORTEST_POLL))
        self._busy_scan_at = now + max(pause, BUSY_RESCAN_SECONDS)
        self._mend(now, len(lanes))

    def claim(self, now: float, outlets: Mapping[int, Outlet], most: int) -> Batch | None:
        """One batch from as many lanes as it takes; None when nobody wants any, or others were quicker."""
        wanted = self._pick(now, outlets, min(most, BATCH))
        if not wanted:
            return None
        token = self._parts.ids.new()
        seconds = max(outlets[key].limits.lease for (key, _), _ in wanted)
        jobs, short = self._parts.database.write("claim", lambda c: self._claim(c, token, wanted, seconds))
        for lane in short:
            self._exhausted(lane)
        return Batch(token, jobs, seconds) if jobs else None

    def _claim(
        self, connection: Connection, token: str, wanted: list[tuple[Place, int]], seconds: float
    ) -> tuple[list[ClaimedJob], list[Place]]:
        clock, ids, short = SqlTime(connection), [], []
        for lane, limit in wanted:
            found = due_ids(connection, clock, *lane, limit)
            ids += found
            if len(found) < limit:
                short.append(lane)
        if not ids:
            return [], short
        keys = {key for (key, _), _ in wanted}
        key = keys.pop() if len(keys) == 1 else SEVERAL_CONSUMERS
        lease_jobs(connection, clock, ids, token, self._owner, seconds, key)
        return read_claimed(connection, clock, ids), short

    def _take(self, due: list[Lane]) -> None:
        self._lanes = {}
        for lane in sorted(due, key=lambda one: (one.due_in, one.consumer_key)):
            self._lanes.setdefault(lane.consumer_key, deque()).append(lane.priority)
        for key, priorities in self._lanes.items():
            self._lanes[key] = deque(sorted(priorities, reverse=True))
        kept = [key for key in self._turns if key in self._lanes]
        known = set(kept)
        self._turns = OrderedDict.fromkeys(kept + [key for key in self._lanes if key not in known])

    def _pick(self, now: float, outlets: Mapping[int, Outlet], most: int) -> list[tuple[Place, int]]:
        picked: list[tuple[Place, int]] = []
        for _ in range(len(self._turns)):
            if most <= 0 or len(picked) >= LANES_AT_ONCE:
                break
            key = next(iter(self._turns))
            self._turns.move_to_end(key)
            outlet = outlets.get(key)
            if outlet is None or outlet.rests(now):
                self._turns.pop(key)
                continue
            wanted = min(outlet.wants(now), most)
            if wanted > 0:
                picked.append(((key, self._lanes[key][0]), wanted))
                most -= wanted
        return picked

    def _exhausted(self, place: Place) -> None:
        """On to the consumer's next priority; without one it waits for the next scan."""
        key, priority = place
        priorities = self._lanes.get(key)
        if priorities and priorities[0] == priority:
            priorities.popleft()
        if not priorities:
            self._lanes.pop(key, None)
            self._turns.pop(key, None)

    def _mend(self, now: float, lanes: int) -> None:
        cost = min(self._costs)
        if now >= self._mend_at and len(self._costs) == COSTS_KEPT:
            self._mend_at = now + MEND_SECONDS
            self._parts.database.write("mend plan", lambda c: mend_plan(c, cost, lanes))
