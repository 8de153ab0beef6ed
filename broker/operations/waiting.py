"""Waiting for work on behalf of a client: so many at once, that others are still served."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from broker.operations.parts import Parts
from broker.runtime.cores import http_threads

T = TypeVar("T")
POLL_SECONDS = 0.05


class Places:
    """How many wait in this process."""

    def __init__(self) -> None:
        self._taken, self._lock = 0, threading.Lock()

    def take(self, most: int) -> bool:
        """Whether there was a place."""
        with self._lock:
            free = self._taken < most
            self._taken += free
            return free

    def leave(self) -> None:
        """The place is free again."""
        with self._lock:
            self._taken -= 1


_places = Places()


def wait_for(parts: Parts, seconds: float, look: Callable[[], T | None]) -> T | None:
    """Look again and again until there is something; None when the time is over, or half the threads wait already."""
    if not _places.take(http_threads(parts.settings.http_threads) // 2):
        return None
    try:
        return _look_until(time.monotonic() + seconds, look)
    finally:
        _places.leave()


def _look_until(ends: float, look: Callable[[], T | None]) -> T | None:
    while (left := ends - time.monotonic()) > 0:
        time.sleep(min(POLL_SECONDS, left))
        found = look()
        if found is not None:
            return found
    return None
