"""What the engine tells about itself; who listens decides what to do with it."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Telemetry(Protocol):
    """Told in batches, never per job."""

    def delivered(self, outcome: str, seconds: Sequence[float]) -> None:
        """Deliveries that ended so, and how long each took."""

    def finished(self, results: Mapping[str, int]) -> None:
        """What was written: results of failures by kind."""

    def late(self, count: int) -> None:
        """Answers that came when the lease was lost."""

    def given_back(self, count: int) -> None:
        """Jobs that wait again because their lease was lost."""

    def opened(self, count: int) -> None:
        """Breakers that opened."""


class Silence:
    """Nobody listens."""

    def delivered(self, outcome: str, seconds: Sequence[float]) -> None: ...

    def finished(self, results: Mapping[str, int]) -> None: ...

    def late(self, count: int) -> None: ...

    def given_back(self, count: int) -> None: ...

    def opened(self, count: int) -> None: ...
