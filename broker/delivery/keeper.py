"""Looks after what nobody holds any more: ended leases and expired jobs. Every process does it, side by side."""

import random
from collections.abc import Callable

from broker.delivery.telemetry import Telemetry
from broker.operations.parts import Parts
from broker.operations.reaping import Reaped, expire_jobs, reap_leases

EVERY_SECONDS = 1.0


class Keeper:
    """Looks once a second, at once again when there was much to do."""

    def __init__(self, parts: Parts, telemetry: Telemetry) -> None:
        self._parts, self._telemetry = parts, telemetry
        self._look_at = 0.0

    def look_now(self) -> None:
        """Look at the next occasion."""
        self._look_at = 0.0

    def look_after(self, now: float) -> bool:
        """When it is time to; True when something was found."""
        if now < self._look_at:
            return False
        found = self._look(reap_leases) | self._look(expire_jobs)
        self._look_at = now if found else now + EVERY_SECONDS * random.uniform(0.8, 1.2)
        return found

    def _look(self, work: Callable[[Parts], Reaped]) -> bool:
        reaped = work(self._parts)
        if reaped.given_back:
            self._telemetry.given_back(reaped.given_back)
        if reaped.deaths:
            self._telemetry.finished({"dead": len(reaped.deaths)})
        return bool(reaped.ended)
