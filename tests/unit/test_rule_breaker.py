"""The circuit breaker: so many failures in a row open it, after a while one probe decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.breaker import Breaker, BreakerState

OPEN_FOR = 60.0


def opened(threshold: int = 5, at: float = 100.0) -> Breaker:
    """A breaker that opened at this moment."""
    breaker = Breaker()
    assert [breaker.failed(at, threshold) for _ in range(threshold)] == [False] * (threshold - 1) + [True]
    return breaker


def probing() -> Breaker:
    """A breaker whose probe is out; it opened at 100, and the probe set out at 160."""
    breaker = opened()
    assert breaker.started() is True
    return breaker


@pytest.mark.parametrize("threshold", [1, 2, 5, 100])
def test_it_opens_at_the_threshold_and_not_before(threshold: int) -> None:
    breaker = Breaker()
    for _ in range(threshold - 1):
        assert breaker.failed(0.0, threshold) is False
        assert (breaker.state(0.0, OPEN_FOR), breaker.room(0.0, OPEN_FOR)) == (BreakerState.CLOSED, None)
    assert breaker.failed(0.0, threshold) is True
    assert (breaker.state(0.0, OPEN_FOR), breaker.room(0.0, OPEN_FOR)) == (BreakerState.OPEN, 0)


def test_a_success_between_begins_the_count_anew() -> None:
    breaker = Breaker()
    for _ in range(10):
        assert [breaker.failed(0.0, 5) for _ in range(4)] == [False] * 4
        breaker.succeeded()
    assert breaker.state(0.0, OPEN_FOR) is BreakerState.CLOSED


@pytest.mark.parametrize(
    ("now", "state", "room"),
    [(100.0, "open", 0), (159.999, "open", 0), (160.0, "probing", 1), (10_000.0, "probing", 1)],
)
def test_it_stays_open_for_its_time_and_then_lets_one_pass(now: float, state: str, room: int) -> None:
    breaker = opened()
    assert (breaker.state(now, OPEN_FOR), breaker.room(now, OPEN_FOR)) == (state, room)


def test_there_is_one_probe_only() -> None:
    breaker = probing()
    assert [breaker.room(now, OPEN_FOR) for now in (160.0, 200.0, 10_000.0)] == [0, 0, 0]


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker = probing()
    breaker.succeeded()
    assert (breaker.state(161.0, OPEN_FOR), breaker.room(161.0, OPEN_FOR)) == (BreakerState.CLOSED, None)
    assert breaker.started() is False
    assert [breaker.failed(162.0, 5) for _ in range(4)] == [False] * 4


def test_a_probe_that_fails_opens_it_anew() -> None:
    breaker = probing()
    assert breaker.failed(161.0, 5) is True
    assert [breaker.room(now, OPEN_FOR) for now in (161.0, 220.999, 221.0)] == [0, 0, 1]


def test_a_probe_that_is_given_back_leaves_its_place_to_another() -> None:
    breaker = probing()
    breaker.withdrawn()
    assert breaker.room(161.0, OPEN_FOR) == 1


def test_late_failures_of_what_set_out_before_neither_open_it_again_nor_keep_it_open() -> None:
    breaker = opened()
    assert [breaker.failed(now, 5, probe=False) for now in (101.0, 159.0, 170.0)] == [False] * 3
    assert [breaker.failed(now, 5) for now in (101.0, 159.0, 170.0)] == [False] * 3
    assert breaker.room(160.0, OPEN_FOR) == 1


def test_late_ones_do_not_speak_for_the_probe() -> None:
    breaker = probing()
    assert breaker.failed(161.0, 5, probe=False) is False
    breaker.withdrawn(probe=False)
    assert breaker.room(162.0, OPEN_FOR) == 0
    assert breaker.failed(163.0, 5) is True
    assert breaker.room(222.0, OPEN_FOR) == 0


def test_zero_is_off_and_switching_it_off_closes_it() -> None:
    breaker = Breaker()
    assert not any(breaker.failed(0.0, 0) for _ in range(1000))
    assert breaker.room(0.0, OPEN_FOR) is None
    for switched in (opened(), probing()):
        assert switched.failed(161.0, 0) is False
        assert switched.room(161.0, OPEN_FOR) is None


def test_a_changed_open_time_applies_at_once() -> None:
    breaker = opened()
    assert [breaker.room(110.0, seconds) for seconds in (60.0, 10.0, 11.0)] == [0, 1, 0]


STEPS = st.lists(st.sampled_from(["start", "fail", "succeed", "late", "withdraw", "wait"]), max_size=60)


@given(STEPS, st.integers(1, 4))
def test_at_most_one_probe_is_ever_out(steps: list[str], threshold: int) -> None:
    breaker, now, out = Breaker(), 0.0, 0
    for step in steps:
        now += 1.0 if step != "wait" else OPEN_FOR
        closed = breaker.room(now, OPEN_FOR) is None
        if step == "start" and not closed and breaker.room(now, OPEN_FOR):
            out += breaker.started()
        elif step == "fail" and (closed or out):
            breaker.failed(now, threshold)
            out = 0
        elif step == "succeed":
            breaker.succeeded()
            out = 0
        elif step == "withdraw" and out:
            breaker.withdrawn()
            out = 0
        elif step == "late" and not closed:
            assert breaker.failed(now, threshold, probe=False) is False
        assert out <= 1
        assert not out or breaker.room(now, OPEN_FOR) == 0
