"""What is counted for ever, once it is committed; who listens decides what to do with it."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol


class Happened(StrEnum):
    """What can happen to a job's place among the dead."""

    DIED = "died"
    DISCARDED = "discarded"
    REQUEUED = "requeued"
    DELETED = "deleted"
    ARCHIVED = "archived"
    MOVED = "moved"


class Tally(Protocol):
    """Told in batches."""

    def count(self, what: Happened, reason: str, number: int) -> None:
        """So many more, for this reason or in this way."""


class NoTally:
    """Nobody listens."""

    def count(self, what: Happened, reason: str, number: int) -> None: ...


def tally_deaths(tally: Tally, deaths: Iterable[str], discards: Iterable[str]) -> None:
    """Deaths by reason, and those of them that left nothing behind."""
    for what, reasons in ((Happened.DIED, deaths), (Happened.DISCARDED, discards)):
        for reason, number in Counter(reasons).items():
            tally.count(what, reason, number)
