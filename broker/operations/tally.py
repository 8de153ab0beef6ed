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

    def published(self, channel_id: str, number: int) -> None:
        """So many more messages of a channel."""


class NoTally:
    """Nobody listens."""

    def count(self, what: Happened, reason: str, number: int) -> None: ...

    def published(self, channel_id: str, number: int) -> None: ...


def tally_published(tally: Tally, channel_ids: Iterable[str]) -> None:
    """Messages by the channels they were published to."""
    for channel_id, number in Counter(channel_ids).items():
        tally.published(channel_id, number)


def tally_deaths(tally: Tally, deaths: Iterable[str], discards: Iterable[str]) -> None:
    """Deaths by reason, and those of them that left nothing behind."""
    for what, reasons in ((Happened.DIED, deaths), (Happened.DISCARDED, discards)):
        for reason, number in Counter(reasons).items():
            tally.count(what, reason, number)
