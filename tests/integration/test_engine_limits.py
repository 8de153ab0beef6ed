"""One target never holds up another, and none gets more at once, or in a second, than it wants."""

from collections import Counter
from collections.abc import Iterator

import pytest

from broker.delivery.outlets import FIRST_WINDOW
from tests.support.pushing import Pushing
from tests.support.target import Answer, Target

HANGING = 20


@pytest.fixture
def hanging() -> Iterator[Target]:
    """A target that never answers; what hangs there ends with the test."""
    with Target(rule=lambda _: Answer(hang=True)) as made:
        yield made


def hang(pushing: Pushing, hanging: Target, count: int) -> None:
    """So many consumers of channel `channel`, none of which ever answers."""
    for number in range(count):
        pushing.consumer(f"hangs-{number}", callbackUrl=hanging.url(f"/{number}"))
    pushing.lonely("healthy")


@pytest.mark.parametrize("count", [1, HANGING])
def test_targets_that_hang_do_not_hold_up_one_that_answers(pushing: Pushing, hanging: Target, count: int) -> None:
    hang(pushing, hanging, count)
    pushing.publish(50)
    pushing.until(lambda: len(hanging.received) >= min(50, FIRST_WINDOW) * count)
    pushing.publish(300, "healthy")
    pushing.until(lambda: pushing.came("/healthy/healthy") == 300)
    assert max(Counter(one.path for one in hanging.received).values()) == FIRST_WINDOW


def test_work_that_comes_in_one_by_one_for_targets_that_hang_holds_up_nobody(pushing: Pushing, hanging: Target) -> None:
    """Each is claimed alone, so that there are as many leases as deliveries."""
    hang(pushing, hanging, HANGING)
    for number in range(1, FIRST_WINDOW + 1):
        pushing.publish(1)
        pushing.until(lambda: len(hanging.received) >= number * HANGING)  # noqa: B023 - called at once
    pushing.publish(50, "healthy")
    pushing.until(lambda: pushing.came("/healthy/healthy") == 50)
