"""Processes of one instance look in turn, so that many of them look as often as one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.delivery.outlets import Share
from broker.delivery.turns import MOST_TURNS, Turns

EVERY = 0.08
LATE = 1e-4
processes = st.integers(1, MOST_TURNS)
moments = st.floats(0, 1e6)


def looks(share: Share, begun: float, ends: float) -> list[float]:
    """When a process looks that is always a little late."""
    turns, found = Turns(share), [begun]
    while found[-1] < ends:
        found.append(turns.after(found[-1], EVERY) + LATE)
    return found[1:-1]


@given(count=processes, begun=moments)
def test_an_instance_looks_as_often_as_one_process_would(count: int, begun: float) -> None:
    ends = begun + 50 * EVERY
    all_looks = sorted(one for index in range(count) for one in looks(Share(index, count), begun, ends))
    gaps = [later - one for one, later in pairwise(all_looks)]
    assert 48 <= len(all_looks) <= 51
    assert all(gap == pytest.approx(EVERY, abs=1e-3) for gap in gaps)


@given(count=processes, index=st.integers(0, MOST_TURNS - 1), now=moments)
def test_a_turn_is_neither_at_once_nor_later_than_a_round_and_a_half(count: int, index: int, now: float) -> None:
    ahead = Turns(Share(index % count, count)).after(now, EVERY) - now
    assert EVERY / 2 - 1e-6 <= ahead <= EVERY * (count + 0.5) + 1e-6


@given(now=moments)
def test_of_very_many_processes_none_waits_longer_than_for_eight_turns(now: float) -> None:
    rounds = [Turns(Share(index, 64)).after(now, EVERY) - now for index in range(64)]
    assert max(rounds) <= EVERY * (MOST_TURNS + 0.5) + 1e-6


@given(now=moments)
def test_a_process_alone_looks_every_time(now: float) -> None:
    assert Turns(Share()).after(now, EVERY) - now <= 1.5 * EVERY + 1e-6
