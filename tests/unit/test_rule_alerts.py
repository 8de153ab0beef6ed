"""Every reading is judged by itself, and the worst decides."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.alert_ranges import AlertRange
from broker.domain.alerts import Level, Reading, Thresholds, judge, worst_of

UP_TO_10, UP_TO_100 = AlertRange(0, 10), AlertRange(0, 100)
LEVELS = [
    (Thresholds(UP_TO_10, UP_TO_100), 0, Level.OK),
    (Thresholds(UP_TO_10, UP_TO_100), 10, Level.OK),
    (Thresholds(UP_TO_10, UP_TO_100), 11, Level.WARNING),
    (Thresholds(UP_TO_10, UP_TO_100), 100, Level.WARNING),
    (Thresholds(UP_TO_10, UP_TO_100), 101, Level.CRITICAL),
    (Thresholds(UP_TO_100, UP_TO_10), 50, Level.CRITICAL),
    (Thresholds(warning=UP_TO_10), 1000, Level.WARNING),
    (Thresholds(critical=UP_TO_10), 5, Level.OK),
    (Thresholds(critical=UP_TO_10), 11, Level.CRITICAL),
    (Thresholds(), 1e9, Level.OK),
]
RANGES = st.builds(AlertRange, st.integers(-50, 0), st.integers(0, 50), st.booleans())
THRESHOLDS = st.builds(Thresholds, st.none() | RANGES, st.none() | RANGES)
READINGS = st.lists(st.builds(Reading, st.text(max_size=3), st.integers(-99, 99), st.just("")), max_size=8)


@pytest.mark.parametrize(("thresholds", "value", "level"), LEVELS)
def test_a_value_is_as_bad_as_the_worst_range_it_left(thresholds: Thresholds, value: float, level: Level) -> None:
    assert thresholds.level(value) is level


def test_levels_are_the_exit_codes_of_plugins() -> None:
    assert {one.name: int(one) for one in Level} == {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}


def test_where_nothing_was_measured_nothing_is_known() -> None:
    assert worst_of(judge([], Thresholds(UP_TO_10))) is Level.UNKNOWN


@given(READINGS, THRESHOLDS)
def test_all_are_judged_the_worst_first_and_among_equals_the_largest(
    readings: list[Reading], thresholds: Thresholds
) -> None:
    found = judge(readings, thresholds)
    assert sorted(map(repr, readings)) == sorted(repr(one.reading) for one in found)
    for one, after in pairwise(found):
        assert (one.level, one.reading.value) >= (after.level, after.reading.value)


@given(READINGS.filter(bool), THRESHOLDS)
def test_all_together_are_as_bad_as_the_worst_and_never_unknown(
    readings: list[Reading], thresholds: Thresholds
) -> None:
    levels = [thresholds.level(one.value) for one in readings]
    assert worst_of(judge(readings, thresholds)) is max(levels)
    assert Level.UNKNOWN not in levels


@given(THRESHOLDS, st.integers(-99, 99))
def test_it_is_critical_if_and_only_if_the_critical_range_alarms(thresholds: Thresholds, value: int) -> None:
    critical = thresholds.critical is not None and thresholds.critical.alarms(value)
    assert (thresholds.level(value) is Level.CRITICAL) is critical
