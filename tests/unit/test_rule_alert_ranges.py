"""Ranges are read as monitoring plugins write them, and alarm as they do."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.alert_ranges import LARGEST, AlertRange, parse_range, read_number, read_percent, show_number
from broker.domain.durations import parse_duration

READ = [
    ("10", AlertRange(0, 10), (0, 5, 10), (-0.1, 10.1, 1e12)),
    ("10:", AlertRange(10, inf), (10, 1e12), (9.9, 0, -1)),
    ("~:10", AlertRange(-inf, 10), (-1e12, 10), (10.1,)),
    ("10:20", AlertRange(10, 20), (10, 15, 20), (9.9, 20.1, -15)),
    ("@10:20", AlertRange(10, 20, inside=True), (9.9, 20.1), (10, 15, 20)),
    ("@10", AlertRange(0, 10, inside=True), (-0.1, 10.1), (0, 10)),
    ("@10:", AlertRange(10, inf, inside=True), (9.9,), (10, 1e12)),
    ("@~:10", AlertRange(-inf, 10, inside=True), (10.1,), (-1e12, 10)),
    ("~:", AlertRange(-inf, inf), (-1e12, 0, 1e12), ()),
    ("0", AlertRange(0, 0), (0,), (0.1, -0.1)),
    ("0:0", AlertRange(0, 0), (0,), (1,)),
    (":10", AlertRange(0, 10), (0, 10), (-1, 11)),
    ("-5:5", AlertRange(-5, 5), (-5, 0, 5), (-5.1, 5.1)),
    ("-10:-5", AlertRange(-10, -5), (-7,), (0, -11)),
    ("1.5:2.25", AlertRange(1.5, 2.25), (1.5, 2.25), (1.49, 2.26)),
    ("20:20", AlertRange(20, 20), (20,), (19, 21)),
    (" 10 ", AlertRange(0, 10), (10,), (11,)),
]
REFUSED = [
    "",
    " ",
    ":",
    "@",
    "@:",
    "~",
    "@~",
    "20:10",
    "~:~",
    "10:~",
    "1:2:3",
    "ten",
    "1e3",
    "1,5",
    "+5",
    "0x10",
    "--5",
]
ODD = [
    "-5",
    "@@1",
    "1 0",
    "5%",
    "1h",
    "٣",
    "nan",
    "inf",
    "1\x00",
    "9" * 400,
    "-" + "9" * 400 + ":",
    f"{LARGEST * 10:.0f}",
]


@pytest.mark.parametrize(("text", "expected", "good", "bad"), READ)
def test_a_range_is_read_and_alarms_where_it_should(
    text: str, expected: AlertRange, good: tuple[float, ...], bad: tuple[float, ...]
) -> None:
    found = parse_range(text, read_number)
    assert found == expected
    assert found.written == text.strip()
    assert [value for value in good if found.alarms(value)] == []
    assert [value for value in bad if not found.alarms(value)] == []


@pytest.mark.parametrize("text", [*REFUSED, *ODD])
def test_what_is_no_range_is_refused_in_a_sentence_that_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^'.*(is not a range like|starts above its end|too large)") as refusal:
        parse_range(text, read_number)
    assert len(str(refusal.value)) < 250
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "low", "high"), [("1h", 0, 3600), ("90", 0, 90), ("30m:1d", 1800, 86_400), ("~:1h30m", -inf, 5400)]
)
def test_bounds_of_ages_are_durations(text: str, low: float, high: float) -> None:
    assert parse_range(text, parse_duration) == AlertRange(low, high)


@pytest.mark.parametrize("text", ["-1h:", "soon", "1x:2h", "9999999d"])
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a range like"):
        parse_range(text, parse_duration)


def test_bounds_in_percent_may_have_their_sign() -> None:
    assert parse_range("80%", read_percent) == parse_range("80", read_percent) == AlertRange(0, 80)
    with pytest.raises(ValueError, match="is not a number"):
        parse_range("%", read_percent)


BOUNDS = st.floats(-1e9, 1e9).map(lambda number: round(number, 6) + 0.0)
ANY_RANGE = st.builds(
    lambda ends, low, high, inside: AlertRange(min(ends) if low else -inf, max(ends) if high else inf, inside),
    st.tuples(BOUNDS, BOUNDS),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(ANY_RANGE)
def test_a_range_that_is_written_is_read_back_as_the_same(one: AlertRange) -> None:
    assert parse_range(str(one), read_number) == one


@given(ANY_RANGE, st.floats(allow_nan=False))
def test_inside_and_outside_are_each_others_opposite(one: AlertRange, value: float) -> None:
    other = AlertRange(one.low, one.high, not one.inside)
    assert one.alarms(value) is not other.alarms(value)


@given(st.text(max_size=20))
def test_any_text_is_a_range_or_is_refused(text: str) -> None:
    try:
        found = parse_range(text, read_number)
    except ValueError as error:
        assert str(error)
    else:
        assert found.low <= found.high
        assert parse_range(str(found), read_number) == found


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (-0.0, "0"),
        (10, "10"),
        (23_469_224, "23469224"),
        (0.05, "0.05"),
        (1e15, "1" + "0" * 15),
        (-1.5, "-1.5"),
    ],
)
def test_numbers_are_shown_without_an_exponent(number: float, shown: str) -> None:
    assert show_number(number) == shown
