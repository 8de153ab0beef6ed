"""Gathers what concurrent callers want done into batches, as a database gathers commits.

There is no thread of its own: the first caller does the work for all that came while the last batch ran, then hands
the lead to one of those that wait. A lone caller is served at once, without a change of thread.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Ticket(Generic[T, R]):
    """One caller that waits: for its answer, or to take the lead."""

    __slots__ = ("answer", "error", "item", "leads", "signal", "size")

    def __init__(self, item: T, size: int) -> None:
        self.item, self.size = item, size
        self.answer: R | None = None
        self.error: BaseException | None = None
        self.leads = False
        self.signal = threading.Lock()
        self.signal.acquire()


class Gather(Generic[T, R]):
    """`submit` blocks until the batch that holds the item was handled, and gives the item's own answer.

    `handle` gets a list of items and gives as many answers; when it raises, every caller of the batch gets the error.
    At most `at_once` batches run together, each of at most `most` items and about `most_size` bytes.
    """

    def __init__(
        self,
        handle: Callable[[Sequence[T]], Sequence[R]],
        at_once: int = 1,
        most: int = 200,
        most_size: int = 4_000_000,
    ) -> None:
        self._handle, self._at_once, self._most, self._most_size = handle, at_once, most, most_size
        self._mutex = threading.Lock()
        self._waiting: deque[_Ticket[T, R]] = deque()
        self._leaders = 0

    def submit(self, item: T, size: int = 0) -> R:
        """Hand in one item; `size` is its weight in bytes."""
        ticket: _Ticket[T, R] = _Ticket(item, size)
        with self._mutex:
            ticket.leads = self._leaders < self._at_once
            if ticket.leads:
                self._leaders += 1
            else:
                self._waiting.append(ticket)
        if not ticket.leads:
            ticket.signal.acquire()
        if ticket.leads:
            self._lead(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer  # type: ignore[return-value]

    def _lead(self, leader: _Ticket[T, R]) -> None:
        followers = self._take(leader.size)
        try:
            self._answer([leader, *followers])
        finally:
            for ticket in followers:
                ticket.signal.release()
            self._hand_over()

    def _take(self, size: int) -> list[_Ticket[T, R]]:
        taken: list[_Ticket[T, R]] = []
        with self._mutex:
            while self._waiting and len(taken) + 1 < self._most and size + self._waiting[0].size <= self._most_size:
                taken.append(self._waiting.popleft())
                size += taken[-1].size
        return taken

    def _answer(self, batch: Sequence[_Ticket[T, R]]) -> None:
        try:
            for ticket, answer in zip(batch, self._handle([t.item for t in batch]), strict=True):
                ticket.answer = answer
        except BaseException as error:  # noqa: BLE001 - every caller of the batch must learn of it, whatever it is
            for ticket in batch:
                ticket.error = error

    def _hand_over(self) -> None:
        with self._mutex:
            heir = self._waiting.popleft() if self._waiting else None
            if heir is None:
                self._leaders -= 1
                return
            heir.leads = True
        heir.signal.release()
