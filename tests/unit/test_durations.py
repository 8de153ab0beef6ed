"""Durations are read as people write them, exactly, or refused with a sentence."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.durations import LONGEST, format_duration, parse_duration

READ = [
    ("30s", 30),
    ("5m", 300),
    ("2h", 7_200),
    ("1d", 86_400),
    ("500ms", 0.5),
    ("1h30m", 5_400),
    ("1d2h3m4s5ms", 93_784.005),
    ("1m500ms", 60.5),
    ("1.5h", 5_400),
    ("0.1s", 0.1),
    ("90", 90),
    ("0", 0),
    ("0.25", 0.25),
    (" 5M ", 300),
    ("1h 30m", 5_400),
    ("5 m", 300),
    (90, 90),
    (0, 0),
    (2.5, 2.5),
    ("0.0000001s", 0),
    (LONGEST, LONGEST),
]
REFUSED = [
    "",
    " ",
    "soon",
    "5x",
    "m",
    "30m1h",
    "5s5s",
    "1,5s",
    "1e3",
    "٣s",
    "+5s",
    "5s\x00",
    "nan",
    "inf",
    "-5s",
    "-1",
    -1,
    -0.5,
    -(10**400),
    10**400,
    "9" * 400,
    LONGEST + 1,
    float("nan"),
    float("inf"),
    float("-inf"),
    True,
    False,
    None,
    [5],
    {"seconds": 5},
]
WRITTEN = [
    (0, "0s"),
    (0.5, "500ms"),
    (0.0005, "0.0005s"),
    (1.5, "1.5s"),
    (30, "30s"),
    (60.0, "1m"),
    (90, "1m30s"),
    (5_400, "1h30m"),
    (86_400, "1d"),
    (90_061, "1d1h1m1s"),
]


@pytest.mark.parametrize(("text", "seconds"), READ)
def test_reads_what_people_write(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text)[:20])
def test_refuses_what_is_not_a_duration_with_a_sentence(text: object) -> None:
    with pytest.raises(ValueError, match=r"is not a duration: write|is negative|longer than a"):
        parse_duration(text)


def test_a_refusal_quotes_only_the_start_of_a_long_value() -> None:
    with pytest.raises(ValueError, match=r"\.\.\. is not a duration") as refusal:
        parse_duration("x" * 10_000)
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(("seconds", "text"), WRITTEN)
def test_writes_the_usual_form(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(0, LONGEST))
def test_what_was_written_reads_back_to_the_same_number(seconds: float) -> None:
    exact = parse_duration(seconds)
    assert parse_duration(format_duration(exact)) == exact
    assert abs(exact - seconds) <= 1e-6


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert 0 <= parse_duration(text) <= LONGEST
