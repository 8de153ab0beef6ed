"""One target never holds up another, and none gets more at once, or in a second, than it wants."""

from collections import Counter
from collections.abc import Iterator

import pytest

from broker.delivery.outlets import FIRST_WINDOW
from tests.support.pushing import Pushing
from tests.support.rows import value
from tests.support.target import OK, Answer, Target

HANGING, FAST, LEASES = 20, 6, 120


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
    hang(pushing, hanging, 1)
    for number in range(1, HANGING + 1):
        pushing.lonely(f"hangs-{number}", callbackUrl=hanging.url(f"/{number}"))
    for number in range(LEASES):
        pushing.publish(1, f"hangs-{number % HANGING + 1}")
        pushing.until(lambda: len(hanging.received) > number)  # noqa: B023 - called at once
    assert value(pushing.broker, "SELECT COUNT(*) FROM lease") == LEASES
    pushing.publish(50, "healthy")
    pushing.until(lambda: pushing.came("/healthy/healthy") == 50)


def test_targets_that_hang_at_their_full_speed_leave_slots_to_others(pushing: Pushing, hanging: Target) -> None:
    """Each has grown its window to 64, and together they could fill all 256 slots."""
    hang(pushing, hanging, 0)
    hanging.rule = lambda _: OK
    for number in range(FAST):
        pushing.consumer(f"fast-{number}", callbackUrl=hanging.url(f"/{number}"))
    pushing.publish(300)
    pushing.until(lambda: len(hanging.received) == 300 * FAST)
    pushing.hand.deliver()
    hanging.received.clear()
    hanging.rule = lambda _: Answer(hang=True)
    pushing.publish(300)
    pushing.until(lambda: len(hanging.received) >= 240)
    pushing.publish(300, "healthy")
    pushing.until(lambda: pushing.came("/healthy/healthy") == 300)
    assert sorted(Counter(one.path for one in hanging.received).values())[-3:] == [64, 64, 64]


def test_what_waits_for_a_target_that_hangs_is_given_back(pushing: Pushing, hanging: Target) -> None:
    """It was claimed ahead, at the pace of its target's good days."""
    hang(pushing, hanging, 0)
    hanging.rule = lambda request: OK if len(hanging.received) < 1_000 else Answer(hang=True)
    pushing.consumer(callbackUrl=hanging.url())
    for _ in range(3):
        pushing.publish(500)
    pushing.until(lambda: len(hanging.received) >= 1_000)
    pushing.until(lambda: held(pushing) == len(hanging.received) - 999)
    assert held(pushing) <= 64


def held(pushing: Pushing) -> int:
    """Jobs that are leased."""
    return int(value(pushing.broker, "SELECT COUNT(*) FROM job WHERE status = 1002"))
