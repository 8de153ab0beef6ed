"""Claims jobs, consumer after consumer, each as much as it can take."""

import random
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import NamedTuple

from broker.delivery.outlets import Moment, Outlet
from broker.delivery.pace import Pace
from broker.domain.work import ClaimedJob
from broker.operations.parts import Parts
from broker.store.claiming import SEVERAL_CONSUMERS, due_ids, lease_jobs, read_claimed
from broker.store.engine import Connection
from broker.store.lanes import Lane, mend_plan, waiting_lanes
from broker.store.moments import SqlTime

BATCH = 200
LANES_AT_ONCE = 32
RESERVE = 8
MEND_SECONDS = 60.0


Place = tuple[int, int]


class Batch(NamedTuple):
    """Jobs that were claimed together."""

    token: str
    jobs: list[ClaimedJob]
    seconds: float


class Claims:
    """Knows which lanes are due; each consumer's lanes go by priority, and consumers take turns.

    Those whose last claim was full have turns of their own, and an eighth of every claim at least: else one with a
    backlog would wait for each of ten thousand that have a single job.
    """

    def __init__(self, parts: Parts, owner: str, pace: Pace) -> None:
        self._parts, self._owner, self._pace = parts, owner, pace
        self._salt = random.getrandbits(30)
        self._lanes: dict[int, deque[int]] = {}
        self._turns: OrderedDict[int, None] = OrderedDict()
        self._full: OrderedDict[int, None] = OrderedDict()
        self._mend_at = 0.0

    @property
    def idle(self) -> bool:
        """Whether the last scan left nothing to claim."""
        return not (self._turns or self._full)

    @property
    def next_scan(self) -> float:
        """When the lanes are to be looked at again: sooner when what was found has been claimed."""
        return self._pace.idle_at if self.idle else self._pace.busy_at

    def look_now(self) -> None:
        """Look at the lanes at the next occasion."""
        self._pace.look_now()

    def scan(self, now: float) -> list[Lane] | None:
        """The lanes that are due, when it is time to look for them; the dearer a look is, the rarer."""
        if now < self.next_scan:
            return None
        began = time.perf_counter()
        lanes = waiting_lanes(self._parts.database)
        ahead = min((lane.due_in for lane in lanes if lane.due_in > 0), default=None)
        self._pace.looked(now, time.perf_counter() - began, ahead)
        self._mend(now, len(lanes))
        return [lane for lane in lanes if lane.due_in <= 0]

    def claim(self, moment: Moment, outlets: Mapping[int, Outlet], most: int) -> Batch | None:
        """One batch from as many lanes as it takes; None when nobody wants any, or others were quicker."""
        wanted = self._pick(moment, outlets, min(most, BATCH))
        if not wanted:
            return None
        token = self._parts.ids.new()
        seconds = max(outlets[key].limits.lease for (key, _), _ in wanted)
        jobs, short = self._parts.database.write("claim", lambda c: self._claim(c, token, wanted, seconds))
        self._learn([lane for lane, _ in wanted], set(short))
        if jobs:
            self._pace.found(moment.now)
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

    def take(self, due: list[Lane], outlets: Mapping[int, Outlet]) -> None:
        """The longest due go first; within a second each process has an order of its own, so that they seldom meet."""
        self._lanes = {}
        mine = [lane for lane in due if lane.consumer_key in outlets]
        for lane in sorted(mine, key=lambda one: (int(one.due_in), one.consumer_key ^ self._salt)):
            self._lanes.setdefault(lane.consumer_key, deque()).append(lane.priority)
        for key, priorities in self._lanes.items():
            self._lanes[key] = deque(sorted(priorities, reverse=True))
        self._full = OrderedDict.fromkeys(key for key in self._full if key in self._lanes)
        kept = [key for key in self._turns if key in self._lanes]
        known = {*kept, *self._full}
        self._turns = OrderedDict.fromkeys(kept + [key for key in self._lanes if key not in known])

    def _pick(self, moment: Moment, outlets: Mapping[int, Outlet], most: int) -> list[tuple[Place, int]]:
        kept, lanes = (most // RESERVE, LANES_AT_ONCE // RESERVE) if self._full else (0, 0)
        picked = self._pick_from(self._turns, moment, outlets, most - kept, LANES_AT_ONCE - lanes)
        rest = most - sum(wanted for _, wanted in picked)
        return picked + self._pick_from(self._full, moment, outlets, rest, LANES_AT_ONCE - len(picked))

    def _pick_from(
        self, turns: OrderedDict[int, None], moment: Moment, outlets: Mapping[int, Outlet], most: int, lanes: int
    ) -> list[tuple[Place, int]]:
        picked: list[tuple[Place, int]] = []
        fair = max(1, most // lanes) if turns is self._turns and len(turns) > lanes else most
        for _ in range(len(turns)):
            if most <= 0 or len(picked) >= lanes:
                break
            key = next(iter(turns))
            turns.move_to_end(key)
            outlet = outlets.get(key)
            if outlet is None or outlet.rests(moment.now):
                turns.pop(key)
                continue
            wanted = min(outlet.wants(moment), most, fair)
            if wanted > 0:
                picked.append(((key, self._lanes[key][0]), wanted))
                most -= wanted
        return picked

    def _learn(self, picked: list[Place], short: set[Place]) -> None:
        """What a claim told: who has more, and whose lane is empty."""
        for place in picked:
            if place in short:
                self._exhausted(place)
            elif place[0] in self._turns:
                self._full[place[0]] = self._turns.pop(place[0])

    def _exhausted(self, place: Place) -> None:
        """On to the consumer's next priority; without one it waits for the next scan."""
        key, priority = place
        priorities = self._lanes.get(key)
        if priorities and priorities[0] == priority:
            priorities.popleft()
        if not priorities:
            self._lanes.pop(key, None)
            self._turns.pop(key, None)
            self._full.pop(key, None)

    def _mend(self, now: float, lanes: int) -> None:
        cost = self._pace.cost
        if now >= self._mend_at and cost is not None:
            self._mend_at = now + MEND_SECONDS
            self._parts.database.write("mend plan", lambda c: mend_plan(c, cost, lanes))
