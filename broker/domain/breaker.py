"""The circuit breaker of one consumer: closed, open for a while, then one probe."""

from enum import StrEnum


class BreakerState(StrEnum):
    """CLOSED: all may pass. OPEN: nobody. PROBING: one may pass, and decides."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


class Breaker:
    """Counts failures in a row; times are seconds of any clock that does not go back."""

    __slots__ = ("_failures", "_opened_at", "_probe_out")

    def __init__(self) -> None:
        self._failures = 0
        self._opened_at: float | None = None
        self._probe_out = False

    @property
    def is_closed(self) -> bool:
        """Whether all may pass."""
        return self._opened_at is None

    def state(self, now: float, open_seconds: float) -> BreakerState:
        """Where it stands."""
        if self._opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.PROBING if now >= self._opened_at + open_seconds else BreakerState.OPEN

    def room(self, now: float, open_seconds: float) -> int | None:
        """How many deliveries may start: None for any number, else 0 or the one probe."""
        state = self.state(now, open_seconds)
        if state is BreakerState.CLOSED:
            return None
        return 1 if state is BreakerState.PROBING and not self._probe_out else 0

    def started(self) -> bool:
        """A delivery set out; True when the breaker is not closed, so that it is the probe."""
        self._probe_out = self._opened_at is not None
        return self._probe_out

    def succeeded(self) -> None:
        """An answer came: all is well again."""
        self._failures, self._opened_at, self._probe_out = 0, None, False

    def failed(self, now: float, threshold: int, probe: bool = True) -> bool:
        """A delivery failed; True when that opens the breaker, or a failed probe opens it anew.

        Not a `probe`, it set out before the breaker opened: too late to say anything about the probe that is out.
        """
        if threshold <= 0:
            self.succeeded()
            return False
        self._failures += 1
        opens = self._probe_out and probe if self._opened_at is not None else self._failures >= threshold
        if opens:
            self._opened_at, self._probe_out = now, False
        return opens

    def withdrawn(self, probe: bool = True) -> None:
        """What set out was given back without an outcome."""
        self._probe_out = self._probe_out and not probe
