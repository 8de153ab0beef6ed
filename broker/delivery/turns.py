"""When to look: processes of one instance take turns by the clock that they share."""

from broker.delivery.outlets import Share

MOST_TURNS = 8


class Turns:
    """Together they look as often as one of them would alone; above eight, some look at the same time."""

    def __init__(self, share: Share) -> None:
        self._of = min(share.of, MOST_TURNS)
        self._place = share.index % self._of

    def after(self, now: float, every: float) -> float:
        """Our next turn, when somebody is to look every so many seconds; never the turn that is now."""
        earliest, cycle = now + every / 2, every * self._of
        return earliest + (self._place * every - earliest) % cycle
