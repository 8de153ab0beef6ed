"""Channels and producers as publishing sees them: at most two seconds old, and read anew before anyone is refused."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from broker.domain.registry import Channel, Producer
from broker.runtime.gather import Gather
from broker.store import channels, producers
from broker.store.engine import Connection, Database

T = TypeVar("T")
FRESH_SECONDS = 2.0
MOST = 10_000


class _Remembered(Generic[T]):
    """A bounded memory of what exists; what does not exist is never remembered.

    Callers that miss it at the same time share one read, which starts after they all came.
    """

    def __init__(self, read: Callable[[Connection, str], T | None], database: Database, name: str) -> None:
        def read_all(keys: Sequence[str]) -> list[T | None]:
            found = database.read(name, lambda c: {key: read(c, key) for key in set(keys)})
            return [found[key] for key in keys]

        self._gather, self._lock = Gather[str, T | None](read_all), Lock()
        self._entries: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def get(self, key: str, good: Callable[[T], bool]) -> tuple[T | None, bool]:
        """The entry, and whether it is good; asks the database before it says no."""
        with self._lock:
            held = self._entries.get(key)
        if held is not None and held[0] > time.monotonic() and good(held[1]):
            return held[1], True
        value = self._gather.submit(key)
        self._put(key, value)
        return value, value is not None and good(value)

    def forget(self, key: str) -> None:
        """It was changed here: this process sees that at once, the others within the time above."""
        with self._lock:
            self._entries.pop(key, None)

    def _put(self, key: str, value: T | None) -> None:
        with self._lock:
            self._entries.pop(key, None)
            if value is not None:
                self._entries[key] = (time.monotonic() + FRESH_SECONDS, value)
            while len(self._entries) > MOST:
                self._entries.popitem(last=False)


class RegistryCache:
    """One per process."""

    def __init__(self, database: Database) -> None:
        self.channels = _Remembered[Channel](channels.find, database, "find channel")
        self.producers = _Remembered[Producer](producers.find, database, "find producer")
