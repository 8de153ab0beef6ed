"""The demo's target fails by plan, so that every outcome can be seen."""

from collections import Counter

import pytest

from broker.demo.target import answer_to


def _statuses(consumer: str, attempt: int = 1) -> Counter[int]:
    answers = [answer_to(consumer, order, attempt) for order in range(1, 101)]
    return Counter(0 if answer is None else answer.status for answer in answers)


def test_the_healthy_one_takes_everything() -> None:
    assert _statuses("healthy") == {200: 100}


def test_the_broken_one_hangs_up_on_everything() -> None:
    assert _statuses("broken") == {0: 100}


def test_the_flaky_one_fails_in_every_category_and_takes_the_rest() -> None:
    assert _statuses("flaky") == {200: 50, 503: 20, 422: 10, 403: 10, 413: 10}


@pytest.mark.parametrize("attempt", [2, 3])
def test_half_of_what_the_flaky_one_was_too_busy_for_succeeds_when_tried_again(attempt: int) -> None:
    assert _statuses("flaky", attempt) == {200: 60, 503: 10, 422: 10, 403: 10, 413: 10}
