"""Looks after what nobody holds any more: ended leases and expired jobs. Any process may, side by side with others."""

from collections.abc import Callable

from broker.delivery.telemetry import Telemetry
from broker.delivery.turns import Turns
from broker.operations.parts import Parts
from broker.operations.reaping import Reaped, expire_jobs, reap_leases
from broker.store.ends import look_for_ends

EVERY_SECONDS = 1.0


class Keeper:
    """The processes of an instance look in turn, one of them every second; at once again when there was much to do."""

    def __init__(self, parts: Parts, telemetry: Telemetry, turns: Turns) -> None:
        self._parts, self._telemetry, self._turns = parts, telemetry, turns
        self.next_look = 0.0

    def look_now(self) -> None:
        """Look at the next occasion."""
        self.next_look = 0.0

    def look_after(self, now: float) -> bool:
        """When it is time to; True when something was found."""
        if now < self.next_look:
            return False
        ends = look_for_ends(self._parts.database)
        found = (ends.leases and self._see_to(reap_leases)) | (ends.lives and self._see_to(expire_jobs))
        self.next_look = now if found else self._turns.after(now, EVERY_SECONDS)
        return found

    def _see_to(self, work: Callable[[Parts], Reaped]) -> bool:
        reaped = work(self._parts)
        if reaped.given_back:
            self._telemetry.given_back(reaped.given_back)
        if reaped.deaths:
            self._telemetry.finished({"dead": len(reaped.deaths)})
        return bool(reaped.ended)
