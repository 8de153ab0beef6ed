"""Cursors come back as the key they were made of, and nothing else comes through."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.domain.errors import Invalid, InvalidCursor
from broker.domain.pages import Page, decode_cursor, encode_cursor, parse_limit

INTEGERS = st.integers(0, 2**63 - 1)
XIDS = st.from_regex(r"\A[0-9a-v]{19}[0g]\Z")
TIMES = st.datetimes(datetime(1970, 1, 3), datetime(9998, 12, 31), timezones=st.just(UTC))
KEYS = st.one_of(
    st.tuples(st.tuples(INTEGERS), st.just((int,))),
    st.tuples(st.tuples(TIMES, XIDS), st.just((datetime, str))),
    st.tuples(st.tuples(XIDS, INTEGERS, TIMES), st.just((str, int, datetime))),
)


@settings(max_examples=40)
@given(KEYS)
def test_a_cursor_is_the_key_it_was_made_of(made: tuple[tuple[int | str | datetime, ...], tuple[type, ...]]) -> None:
    key, shape = made
    cursor = encode_cursor(key)
    assert decode_cursor(cursor, shape) == key
    assert cursor.replace("-", "a").replace("_", "a").isalnum()


@given(st.text(), st.sampled_from([(int,), (str,), (datetime, str), ()]))
def test_any_text_is_a_key_of_the_right_shape_or_refused(text: str, shape: tuple[type, ...]) -> None:
    try:
        key = decode_cursor(text, shape)
    except InvalidCursor:
        return
    assert encode_cursor(key) == text
    assert [type(part) for part in key] == list(shape)


@settings(max_examples=30)
@given(st.tuples(TIMES, XIDS), st.data())
def test_a_cursor_that_was_cut_or_padded_is_refused(key: tuple[datetime, str], data: st.DataObject) -> None:
    cursor = encode_cursor(key)
    cut = data.draw(st.integers(0, len(cursor) - 1))
    with pytest.raises(InvalidCursor):
        decode_cursor(cursor[:cut], (datetime, str))
    for padding in ("=", "==", "A", "\n"):
        with pytest.raises(InvalidCursor):
            decode_cursor(cursor + padding, (datetime, str))


@pytest.mark.parametrize("key", [(-1,), (2**63,), (True,), (1.5,), ("1",), (None,), (1, 2), ()])
def test_a_forged_number_is_refused(key: tuple[int, ...]) -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor(encode_cursor(key), (int,))


def test_a_limit_is_1_to_100_and_25_when_not_given() -> None:
    assert parse_limit(None) == 25
    assert [parse_limit(text) for text in ("1", "100", "007")] == [1, 100, 7]
    for text in ("0", "101", "", "-1", "1.0", "٣", "x", " 1", "00000001000", "1" * 5000):
        with pytest.raises(Invalid, match="limit"):
            parse_limit(text)


def test_a_mapped_page_keeps_its_neighbours() -> None:
    page = Page([1, 2], next=(2,), previous=(1,)).map(str)
    assert (page.rows, page.next, page.previous) == (["1", "2"], (2,), (1,))
