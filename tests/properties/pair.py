"""Two brokers that get the same calls in the same order and must give the same answers: on SQLite and on a server."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from broker.domain.times import show_time
from tests.properties import stored
from tests.properties.normal import Normaliser
from tests.properties.sides import Answer, Call, Side
from tests.support.brokers import Broker

T = TypeVar("T")


class Pair:
    """The two sides, both emptied; called one after the other and compared at every call."""

    def __init__(self, sqlite: Broker, server: Broker) -> None:
        self._given: set[str] = set()
        self._sides = [Side(broker, Normaliser(self._given)) for broker in (sqlite, server)]
        for side in self._sides:
            stored.empty(side)
        self._now = sqlite.clock.now().replace(second=0, microsecond=0)
        self._forget()

    def now(self) -> datetime:
        """The time on both, but for the seconds that the calls themselves have taken."""
        return self._now

    def give(self, moment: datetime) -> str:
        """A time to send; it is known again when it comes back."""
        self._given.add(show_time(moment))
        return show_time(moment)

    def send(self, call: Call) -> Answer:
        """The one answer of both."""
        answer = self.same(lambda side: side.send(call), call)
        assert answer.status < 500, f"{call}\n  gives {answer}"
        return answer

    def follow(self, path: str, query: dict[str, str]) -> list[Any]:
        """The pages of a list, the same on both."""
        return self.same(lambda side: side.follow(path, query), (path, query))

    def same(self, look: Callable[[Side], T], what: object = "the database") -> T:
        """What both sides show, which must be the same."""
        first, second = (look(side) for side in self._sides)
        assert first == second, f"{what}\n  on SQLite:     {first}\n  on the server: {second}"
        return first

    def advance(self, by: timedelta) -> None:
        """Time passes on both, and with it the age of what they have cached."""
        for side in self._sides:
            side.broker.clock.advance(by)
        self._now += by
        self._forget()

    def _forget(self) -> None:
        """Empty the caches here only: their age is real time, so milliseconds would decide what a call sees."""
        for cache in (side.broker.parts.cache for side in self._sides):
            cache.channels._entries.clear()
            cache.producers._entries.clear()
