"""How soon the engine looks again for jobs that are due."""

import pytest

from broker.delivery.outlets import Share
from broker.delivery.pace import COSTS_KEPT, LIVELY_POLL_SECONDS, LIVELY_SECONDS, LONGEST_POLL, POLL_SECONDS, Pace
from broker.delivery.turns import Turns

CHEAP, DEAR = 0.0005, 0.1
NOW = 10 * 2 * POLL_SECONDS  # a turn of the first process


def pace(count: int = 2) -> Pace:
    return Pace(Turns(Share(0, count)))


def after_a_look(made: Pace, cost: float = CHEAP, ahead: float | None = None) -> float:
    made.looked(NOW, cost, ahead)
    return made.idle_at - NOW


@pytest.mark.parametrize("count", [1, 2, 4])
def test_without_jobs_each_process_waits_for_its_turn(count: int) -> None:
    wait = after_a_look(pace(count))
    assert wait % POLL_SECONDS == pytest.approx(0) or wait % POLL_SECONDS == pytest.approx(POLL_SECONDS)
    assert POLL_SECONDS / 2 <= wait <= POLL_SECONDS * count + 1e-9


def test_one_that_found_jobs_looks_again_sooner_for_a_while() -> None:
    made = pace()
    made.found(NOW - LIVELY_SECONDS / 2)
    assert after_a_look(made) == pytest.approx(LIVELY_POLL_SECONDS)
    made.found(NOW - LIVELY_SECONDS)
    assert after_a_look(made) == pytest.approx(2 * POLL_SECONDS)


@pytest.mark.parametrize("found", [True, False])
def test_dear_looks_are_rare_but_never_rarer_than_a_limit(found: bool) -> None:
    made = pace(1)
    if found:
        made.found(NOW)
    assert LONGEST_POLL / 2 <= after_a_look(made, DEAR) <= 1.5 * LONGEST_POLL


def test_one_slow_look_among_cheap_ones_changes_nothing() -> None:
    made = pace()
    after_a_look(made)
    assert after_a_look(made, DEAR) == pytest.approx(2 * POLL_SECONDS)


@pytest.mark.parametrize(("ahead", "wait"), [(0.01, 0.01), (0.0001, 0.002), (5.0, 2 * POLL_SECONDS)])
def test_a_job_that_is_due_before_the_turn_is_looked_for_when_it_is_due(ahead: float, wait: float) -> None:
    assert after_a_look(pace(), ahead=ahead) == pytest.approx(wait)


def test_the_cost_of_a_look_is_known_after_a_few() -> None:
    made = pace()
    for number in range(COSTS_KEPT):
        assert made.cost is None
        made.looked(NOW, CHEAP + number, None)
    assert made.cost == CHEAP


def test_when_told_to_it_looks_at_once() -> None:
    made = pace()
    after_a_look(made)
    made.look_now()
    assert (made.idle_at, made.busy_at) == (0.0, 0.0)
