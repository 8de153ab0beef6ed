"""A line for monitoring stays one line, whatever its names contain, and none of its figures is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cli.plugin_output import LONGEST_LINE, LONGEST_TEXT, figure, line, one_line
from broker.domain.alert_ranges import AlertRange
from broker.domain.alerts import NO_THRESHOLDS, Thresholds
from tests.support.plugins import PluginOutput

BOTH = Thresholds(AlertRange(0, 10), AlertRange(5, 20, inside=True))
ANY_NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("two\nlines", "two lines"),
        ("a|b", r"a\x7cb"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\u2028b", "a b"),
        ("tab\t and  blanks", "tab and blanks"),
        ("größer", "größer"),
    ],
)
def test_what_would_break_the_line_is_shown_as_its_code(given: str, told: str) -> None:
    assert one_line(given) == told


def test_a_figure_has_its_ranges_and_its_minimum() -> None:
    assert figure("orders/billing", 5, "", BOTH) == "'orders/billing'=5;10;@5:20;0"
    assert figure("a", 1.25, "s", NO_THRESHOLDS) == "'a'=1.25s;;;0"


@given(ANY_NAME, ANY_NAME, st.floats(0, 1e12))
def test_any_name_is_read_back_as_one_figure(name: str, text: str, value: float) -> None:
    figures = [figure(name, value, "s", BOTH), figure(f"{name}2", 1, "%", BOTH)]
    found = PluginOutput.parse(line(f"DLQ OK - {text}.", figures))
    assert found.level == "OK"
    first, last = found.figures.values()
    assert (first.unit, first.warning, first.critical, first.minimum) == ("s", "10", "@5:20", "0")
    assert first.value == pytest.approx(value, abs=1e-6)
    assert (last.value, last.unit) == (1, "%")


@given(ANY_NAME, st.integers(0, 500))
def test_a_line_is_never_longer_than_monitoring_reads_and_has_whole_figures_only(name: str, count: int) -> None:
    figures = [figure(f"{name}{number}", number, "", BOTH) for number in range(count)]
    told = line(f"DLQ OK - {name}.", figures)
    assert len(told.encode()) <= LONGEST_LINE
    kept = len(PluginOutput.parse(told).figures)
    assert told.partition(" | ")[2] == " ".join(figures[:kept])
    assert kept == count or len(told.encode()) + len(figures[kept].encode()) + 3 > LONGEST_LINE


def test_a_text_that_is_too_long_is_cut() -> None:
    told = one_line("long " * 1000)
    assert len(told) == LONGEST_TEXT
    assert told.endswith("...")
