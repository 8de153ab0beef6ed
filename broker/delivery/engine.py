"""The engine: one thread that claims, sends and writes down, so that no job changes hands on its way."""

import logging
import time
from collections.abc import Callable

from broker.delivery.breakers import OpenBreakers
from broker.delivery.claims import BATCH, Claims
from broker.delivery.desk import Desk
from broker.delivery.directory import Directory
from broker.delivery.flights import Flights
from broker.delivery.keeper import Keeper
from broker.delivery.outlets import Moment, Outlet, Share
from broker.delivery.pace import Pace
from broker.delivery.telemetry import Silence, Telemetry
from broker.delivery.turns import Turns
from broker.domain.errors import Unavailable
from broker.operations.parts import Parts

MOST_WAITING = 1000
SPARE_LEASES = 64
LONGEST_NAP, IDLE_NAP = 0.05, 0.25
PENDING_NAP = 0.005
AWAY_SECONDS = 0.5
DRAIN_SECONDS = 20.0
WRITE_SECONDS = 5.0
log = logging.getLogger(__name__)


class Engine:
    """Delivers until told to stop. `step` does a little of everything, and never waits for one target."""

    def __init__(
        self, parts: Parts, owner: str, share: Share | None = None, telemetry: Telemetry | None = None
    ) -> None:
        telemetry, share = telemetry or Silence(), share or Share()
        turns = Turns(share)
        self._parts, self._clock = parts, parts.clock
        self._directory, self._claims = Directory(parts, share), Claims(parts, owner, Pace(turns))
        self._desk, self._keeper = Desk(parts, telemetry), Keeper(parts, telemetry, turns)
        self._breakers = OpenBreakers(telemetry)
        self._flights = Flights(parts, self._desk, telemetry, self._breakers)
        self._busy: dict[int, Outlet] = {}
        self._waiting = 0
        self._away_until = 0.0

    @property
    def idle(self) -> bool:
        """Whether nothing is in hand and the last look found nothing due."""
        return not (self._flights.count or self._waiting or self._desk.unwritten) and self._claims.idle

    @property
    def _free(self) -> int:
        """How many more deliveries may be in the air."""
        return self._parts.settings.delivery_concurrency - self._flights.count

    def run(self, stopping: Callable[[], bool]) -> None:
        """Work until told to stop, then drain."""
        while not stopping():
            self.step()
        self.drain()

    def step(self, nap: float = IDLE_NAP) -> None:
        """Claim, send, gather, write; sleep at most `nap` seconds when there is nothing to do."""
        now = self._clock.seconds()
        self._breakers.look(now, self._directory.outlets)
        if now >= self._away_until:
            self._safely(self._ask_database)
        self._safely(self._launch)
        landed = self._flights.land(self._patience(nap))
        self._safely(self._give_back_stalled)
        if not (landed or self._flights.count or self._desk.unwritten):
            time.sleep(self._patience(nap))
        now = self._clock.seconds()
        if self._desk.write_due(now, nothing_else=not self._flights.count):
            self._write(now)

    def look_now(self) -> None:
        """Look at everything at the next step, however little time has passed."""
        for part in (self._directory, self._claims, self._keeper):
            part.look_now()

    def drain(self) -> None:
        """Give back what was not sent, let what is in the air land, within a limit, and give back the rest."""
        self._safely(self._give_back_waiting)
        ends = time.monotonic() + DRAIN_SECONDS
        while self._flights.count and time.monotonic() < ends:
            self._flights.land(LONGEST_NAP)
            self._write_if_due()
        ends = time.monotonic() + WRITE_SECONDS
        while self._desk.unwritten and time.monotonic() < ends and not self._write(self._clock.seconds()):
            time.sleep(LONGEST_NAP)
        self._safely(lambda: self._desk.give_back(self._flights.aloft()))
        self._flights.close()

    def _write_if_due(self) -> None:
        if self._desk.write_due(self._clock.seconds(), nothing_else=not self._flights.count):
            self._write(self._clock.seconds())

    def _write(self, now: float) -> bool:
        """What landed is told as often as it is written: in batches that are larger than those it landed in."""
        self._flights.tell()
        return self._desk.write(now)

    def _safely(self, work: Callable[[], object]) -> None:
        """A database that is away is waited for; an error that nobody expected is told, and ends nothing."""
        try:
            work()
        except Unavailable:
            self._away_until = self._clock.seconds() + AWAY_SECONDS
        except Exception:
            log.exception("the engine met an error that it did not expect; it goes on in a moment")
            self._away_until = self._clock.seconds() + AWAY_SECONDS

    def _ask_database(self) -> None:
        now = self._clock.seconds()
        self._keeper.look_after(now)
        self._desk.renew(now)
        self._desk.write_put_off()
        due = self._claims.scan(now)
        self._directory.refresh(now, needed=bool(due) or not self.idle)
        if due is not None:
            self._claims.take(due, self._directory.outlets)
        self._claim(now)

    def _claim(self, now: float) -> None:
        outlets, room = self._directory.outlets, MOST_WAITING - self._waiting
        most_leases = self._parts.settings.delivery_concurrency + SPARE_LEASES
        if self._claims.idle or room < BATCH or self._desk.leases >= most_leases:
            return
        batch = self._claims.claim(Moment(now, self._free), outlets, room)
        if batch is None:
            return
        self._desk.opened(batch, now)
        for job in batch.jobs:
            outlet = self._busy[job.consumer_key] = outlets[job.consumer_key]
            outlet.waiting.append((batch.token, job))
        self._waiting += len(batch.jobs)

    def _launch(self) -> None:
        """Each consumer in turn starts what its slots allow."""
        now = self._clock.seconds()
        room = self._free
        for key, outlet in list(self._busy.items()):
            if outlet.rests(now):
                self._give_back(outlet)
            slots = outlet.slots(Moment(now, room))
            while slots > 0 and outlet.waiting and self._flights.launch(outlet, now):
                self._waiting -= 1
                slots, room = slots - 1, room - 1
            if not outlet.waiting:
                del self._busy[key]
            elif room <= 0:
                self._busy[key] = self._busy.pop(key)
                return

    def _give_back_waiting(self) -> None:
        for outlet in self._busy.values():
            self._give_back(outlet)
        self._busy.clear()

    def _give_back_stalled(self) -> None:
        """What waits for a target that hangs goes back; looked at when all answers that have come are known."""
        moment = Moment(self._clock.seconds(), self._free)
        for outlet in self._busy.values():
            if outlet.waiting and outlet.stalls(moment.now) and not outlet.slots(moment):
                self._give_back(outlet)

    def _give_back(self, outlet: Outlet) -> None:
        """Its target hangs, its breaker opened, it was paused, or the process stops: no attempt is burnt."""
        jobs = [(token, job.id) for token, job in outlet.waiting]
        self._desk.give_back(jobs)
        self._waiting -= len(jobs)
        outlet.waiting.clear()

    def _patience(self, nap: float) -> float:
        """How long nothing needs to be done."""
        if self._desk.unwritten or not self._claims.idle:
            return min(nap, PENDING_NAP)
        if self._flights.count or self._waiting:
            nap = min(nap, LONGEST_NAP)
        look = max(self._away_until, min(self._claims.next_scan, self._keeper.next_look))
        return max(0.0, min(nap, look - self._clock.seconds()))
