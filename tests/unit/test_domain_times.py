"""Times as text: any RFC 3339 in, UTC with microseconds out."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.clock import Clock
from broker.domain.errors import Invalid
from broker.domain.times import parse_time, show_time

OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1970, 1, 4), datetime(9998, 12, 29), timezones=OFFSETS)


@given(MOMENTS)
def test_what_is_shown_reads_back_as_the_same_moment(moment: datetime) -> None:
    shown = show_time(moment)
    assert parse_time("at", shown) == moment
    assert (len(shown), shown[-1]) == (27, "Z")
    assert parse_time("at", moment.isoformat()) == moment
    assert parse_time("at", moment.isoformat()).tzinfo is UTC


@given(MOMENTS, MOMENTS)
def test_shown_times_sort_like_the_moments(one: datetime, other: datetime) -> None:
    assert (show_time(one) < show_time(other)) == (one < other)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000000Z"),
        ("2030-01-31t12:00:00.5z", "2030-01-31T12:00:00.500000Z"),
        ("2030-01-31 12:00:00.123456789+02:00", "2030-01-31T10:00:00.123456Z"),
        ("2030-01-31T23:00:00-05:30", "2030-02-01T04:30:00.000000Z"),
        ("1970-01-02T00:00:00Z", "1970-01-02T00:00:00.000000Z"),
        ("9999-01-01T00:00:00Z", "9999-01-01T00:00:00.000000Z"),
    ],
)
def test_the_usual_spellings_are_read(text: str, shown: str) -> None:
    assert show_time(parse_time("at", text)) == shown


@pytest.mark.parametrize(
    "text",
    ["", "now", "2030-01-31", "2030-01-31T12:00:00", "2030-01-31T12:00Z", "2030-02-30T00:00:00Z", "1893456000",
     "2030-01-01T25:00:00Z", "2030-01-01T00:00:60Z", "20300131T120000Z", "2030-W05-1T00:00:00Z", "1970-01-01T00:00:00Z",
     "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2030-01-01T00:00:00+99:99",
     "2030-01-01T00:00:00.Z", "٢٠٣٠-01-01T00:00:00Z", " 2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z\n"],
)  # fmt: skip
def test_what_is_no_time_or_out_of_reach_is_refused_by_name(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_time("expiresAt", text)
    assert [problem.field for problem in refused.value.problems] == ["expiresAt"]


@given(st.text())
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        assert parse_time("at", text).tzinfo is UTC
    except Invalid as refused:
        assert refused.code == "invalid-request"


def test_a_clock_tells_the_time_and_can_be_moved() -> None:
    clock = Clock()
    before = datetime.now(UTC)
    assert before <= clock.now() <= datetime.now(UTC)
    clock.advance(timedelta(hours=2))
    clock.advance(timedelta(hours=-1))
    assert timedelta(hours=1) <= clock.now() - before < timedelta(hours=1, minutes=1)
    assert clock.now().tzinfo is UTC
