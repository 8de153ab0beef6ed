"""XIDs: 20 characters, ordered by time, made without asking anyone.

Twelve bytes: seconds (4), a random prefix of the process (5), a counter (3), written in base32hex. The counter
makes inserts go to the end of the tree; the prefix is drawn anew in a forked child, so two processes never share one.
"""

import os
import re
import secrets
import threading
import time
from collections.abc import Callable

ALPHABET = "0123456789abcdefghijklmnopqrstuv"
PAIRS = tuple(first + second for first in ALPHABET for second in ALPHABET)
XID = re.compile(r"[0-9a-v]{19}[0g]")
LAST_COUNT = 0xFFFFFF


def is_xid(text: str) -> bool:
    """Whether the text can be an id that a broker made."""
    return XID.fullmatch(text) is not None


class XidFactory:
    """Makes ids that grow, unique within this process and across forks."""

    def __init__(self, seconds: Callable[[], float] = time.time) -> None:
        self._seconds = seconds
        self._second = self._count = self._tail = 0
        self._head = ""
        self._after_fork()
        os.register_at_fork(after_in_child=self._after_fork)

    def new(self) -> str:
        """One id, greater than every id this factory made before."""
        return self.block(1)[0]

    def block(self, count: int) -> list[str]:
        """Several ids in growing order."""
        with self._lock:
            self._advance(int(self._seconds()))
            return [self._next() for _ in range(count)]

    def _next(self) -> str:
        if self._count == LAST_COUNT:
            self._advance(self._second + 1)
        self._count += 1
        tail = self._tail | (self._count << 4)
        return self._head + PAIRS[tail >> 20] + PAIRS[(tail >> 10) & 1023] + PAIRS[tail & 1023]

    def _advance(self, second: int) -> None:
        """Start a new second; a clock that goes back is not followed."""
        if second <= self._second:
            return
        self._second, self._count = second, -1
        front = (second << 40) | self._prefix
        self._tail = (front & 3) << 28
        self._head = "".join(PAIRS[(front >> shift) & 1023] for shift in range(62, 1, -10))

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        self._prefix = int.from_bytes(secrets.token_bytes(5), "big")
        self._second, self._count, self._head, self._tail = -1, -1, "", 0
