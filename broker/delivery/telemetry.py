"""What the engine tells about itself; who listens decides what to do with it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

Landed = Mapping[tuple[str, str, str], Sequence[float]]


class Telemetry(Protocol):
    """Told in batches, never per job."""

    def delivered(self, landed: Landed) -> None:
        """Deliveries that ended, by channel, consumer and outcome: how long each took."""

    def finished(self, results: Mapping[str, int]) -> None:
        """What was written: results of failures by kind."""

    def late(self, count: int) -> None:
        """Answers that came when the lease was lost."""

    def given_back(self, count: int) -> None:
        """Jobs that wait again because their lease was lost."""

    def opened(self, count: int) -> None:
        """Breakers that opened."""

    def breaker(self, channel_id: str, consumer_id: str, is_open: bool) -> None:
        """A consumer's breaker that opened, or is closed again."""


class Silence:
    """Nobody listens."""

    def delivered(self, landed: Landed) -> None: ...

    def finished(self, results: Mapping[str, int]) -> None: ...

    def late(self, count: int) -> None: ...

    def given_back(self, count: int) -> None: ...

    def opened(self, count: int) -> None: ...

    def breaker(self, channel_id: str, consumer_id: str, is_open: bool) -> None: ...
