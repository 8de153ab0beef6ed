"""The breaker: opens after failures in a row, lets one probe pass, and burns no attempts of those that wait."""

from datetime import timedelta

import pytest

from tests.support.pushing import Pushing
from tests.support.rows import value
from tests.support.target import Answer

FAILED = {"retryPolicy": "fixed", "retryBase": 3_600, "breakerThreshold": 5}


@pytest.fixture
def opened(pushing: Pushing) -> Pushing:
    """Five jobs failed one after the other, and three more are due."""
    pushing.consumer(**FAILED)
    pushing.target.rule = lambda _: Answer(500)
    for _ in range(5):
        pushing.fail_once()
    pushing.publish(3)
    pushing.hand.deliver()
    return pushing


def burnt(pushing: Pushing) -> int:
    """Attempts that were counted on all jobs."""
    return int(value(pushing.broker, "SELECT SUM(retryAttemptCount) FROM job"))


def test_while_it_is_open_due_jobs_wait_and_burn_no_attempts(opened: Pushing) -> None:
    opened.later(55)
    assert (opened.came(), burnt(opened)) == (5, 5)
    assert value(opened.broker, "SELECT COUNT(*) FROM job WHERE status = 1001 AND retryAttemptCount = 0") == 3
    assert value(opened.broker, "SELECT COUNT(*) FROM lease") == 0


def test_after_its_time_one_probe_passes_and_success_closes_it(opened: Pushing) -> None:
    opened.target.rule = lambda _: Answer(200, delay=0.2)
    opened.broker.clock.advance(timedelta(seconds=61))
    opened.until(lambda: opened.came() == 6)
    opened.until(lambda: value(opened.broker, "SELECT COUNT(*) FROM job WHERE status = 1003") == 1)
    assert opened.came() == 6 or opened.target.received[6].arrived - opened.target.received[5].arrived >= 0.2
    opened.hand.deliver()
    assert opened.came() == 8


def test_a_failed_probe_opens_it_for_as_long_again(opened: Pushing) -> None:
    opened.later(61)
    assert (opened.came(), burnt(opened)) == (6, 6)
    opened.later(55)
    assert opened.came() == 6
    opened.later(6)
    assert (opened.came(), burnt(opened)) == (7, 7)


def test_an_answer_between_failures_starts_the_count_anew(pushing: Pushing) -> None:
    pushing.consumer(**FAILED)
    for number in range(12):
        status = 200 if number % 5 == 4 else 500
        pushing.target.rule = lambda _, status=status: Answer(status)  # type: ignore[misc]
        pushing.fail_once()
    assert pushing.came() == 12


def test_many_in_flight_when_it_opens_are_the_only_ones_that_fail(pushing: Pushing) -> None:
    pushing.consumer(**{**FAILED, "consumerConcurrency": 8})
    pushing.target.rule = lambda _: Answer(500, delay=0.05)
    pushing.publish(300)
    pushing.hand.deliver()
    assert pushing.came() == burnt(pushing) <= 5 + 8
    assert value(pushing.broker, "SELECT COUNT(*) FROM job WHERE status = 1002") == 0


def test_one_consumers_breaker_is_nothing_to_another(opened: Pushing) -> None:
    opened.lonely("other")
    opened.publish(3, "other")
    opened.hand.deliver()
    assert (opened.came("/other/other"), opened.came()) == (3, 5)
