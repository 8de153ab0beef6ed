"""How often the lanes are looked at: soon where jobs are coming, seldom where none are, and the dearer the rarer."""

from collections import deque

from broker.delivery.turns import Turns

POLL_SECONDS, LIVELY_POLL_SECONDS = 0.08, 0.03
LIVELY_SECONDS = 0.5
BUSY_RESCAN_SECONDS = 0.2
POLL_SHARE = 25
SHORTEST_POLL, LONGEST_POLL = 0.002, 0.4
COSTS_KEPT = 4


class Pace:
    """A process that found jobs lately looks at its own pace; else the instance's processes do it in turn."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._costs: deque[float] = deque(maxlen=COSTS_KEPT)
        self._lively_until = 0.0
        self.idle_at = self.busy_at = 0.0

    @property
    def cost(self) -> float | None:
        """What a look takes, by the best of the last few; None before there were as many."""
        return min(self._costs) if len(self._costs) == COSTS_KEPT else None

    def look_now(self) -> None:
        """Look at the next occasion."""
        self.idle_at = self.busy_at = 0.0

    def found(self, now: float) -> None:
        """There was something to claim."""
        self._lively_until = now + LIVELY_SECONDS

    def looked(self, now: float, seconds: float, ahead: float | None) -> None:
        """A look took so long, and the next job is due in so many seconds: when to look again."""
        self._costs.append(seconds)
        dear = min(LONGEST_POLL, min(self._costs) * POLL_SHARE)
        self.idle_at = self._next(now, dear)
        if ahead is not None:
            self.idle_at = min(self.idle_at, now + max(ahead, SHORTEST_POLL))
        self.busy_at = now + max(dear, BUSY_RESCAN_SECONDS)

    def _next(self, now: float, dear: float) -> float:
        if now < self._lively_until:
            return now + max(LIVELY_POLL_SECONDS, dear)
        return self._turns.after(now, max(POLL_SECONDS, dear))
