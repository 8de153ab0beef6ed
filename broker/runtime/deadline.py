"""Work that must be done by a certain time, or is given up."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


class TooLate(Exception):
    """The time is over; the work may go on in its thread, which does not hold up the end of the process."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """What the work gives or raises. A thread, for name lookups and database files wait where no signal wakes them."""
    outcome: Future[T] = Future()
    Thread(target=_settle, args=(outcome, work), daemon=True).start()
    if not wait([outcome], seconds).done:
        raise TooLate
    return outcome.result()


def _settle(outcome: Future[T], work: Callable[[], T]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:  # noqa: BLE001 - who waits for it raises it
        outcome.set_exception(error)
