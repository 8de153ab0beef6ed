"""Work that takes too long is given up; what it raises in time is raised."""

import time
from threading import Event

import pytest

from broker.runtime.deadline import TooLate, within


def test_what_the_work_gives_is_given() -> None:
    assert within(10, lambda: 5) == 5


@pytest.mark.parametrize("error", [ValueError("no"), TimeoutError("of its own"), SystemExit(4)])
def test_what_the_work_raises_is_raised(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        within(10, work)
    assert raised.value is error


def test_work_that_takes_too_long_is_given_up() -> None:
    release, began = Event(), time.monotonic()
    with pytest.raises(TooLate):
        within(0.05, lambda: release.wait(60))
    assert time.monotonic() - began < 30
    release.set()
