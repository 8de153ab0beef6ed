"""Stops an instance at one of its statements, so that others can do something in between."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import event

from broker.operations.parts import Parts

LONGEST_SECONDS = 30.0
T = TypeVar("T")


class Gate:
    """Somebody works in a thread of their own and stands still before a statement, once."""

    def __init__(self, text: str) -> None:
        self._text, self._reached, self._opened = text, threading.Event(), threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def start(self, work: Callable[[], T]) -> "Future[T]":
        """Begin, and come back when the gate is reached."""
        running = self.start_only(work)
        assert self._reached.wait(LONGEST_SECONDS), f"nobody came to {self._text!r}"
        return running

    def start_only(self, work: Callable[[], T]) -> "Future[T]":
        """Begin, and come back at once."""
        return self._pool.submit(work)

    def open(self) -> None:
        """Let it go on."""
        self._opened.set()

    def _pass(self, connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if self._text in statement and not self._reached.is_set():
            self._reached.set()
            assert self._opened.wait(LONGEST_SECONDS), f"nobody opened the gate at {self._text!r}"


@contextmanager
def gate_before(parts: Parts, text: str) -> Iterator[Gate]:
    """A gate before the first statement of this instance that contains the text."""
    gate = Gate(text)
    event.listen(parts.database.engine, "before_cursor_execute", gate._pass)
    try:
        yield gate
    finally:
        gate.open()
        gate._pool.shutdown()
        event.remove(parts.database.engine, "before_cursor_execute", gate._pass)
