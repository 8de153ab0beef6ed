"""Ids, names and tokens that users choose: everything printable, nothing that a path or header cannot carry."""

import unicodedata
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.errors import Invalid
from broker.domain.names import check_name, check_public_id, check_token

ANY = st.text(max_size=300)
GOOD_IDS = ["a", "%", "_", "...", ".a", "a b", "' OR 1=1", "ü", "e\u0301", "🦆" * 255, "\u200d", "x" * 255]
BAD_IDS = ["", ".", "..", " ", " a", "a ", "\u00a0a", "a\u2028", "a/b", "a\\b", "a?", "a#b", "\x00", "a\nb", "\x7f",
           "\x85", "\ud800", "\ufffd", "x" * 256, "🦆" * 256]  # fmt: skip


@pytest.mark.parametrize("text", GOOD_IDS)
def test_an_id_can_be_nearly_anything(text: str) -> None:
    assert check_public_id("channelId", text) == text


@pytest.mark.parametrize("text", BAD_IDS)
def test_what_a_path_cannot_carry_is_no_id(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_public_id("channelId", text)
    assert [problem.field for problem in refused.value.problems] == ["channelId"]


@given(ANY)
def test_an_accepted_id_survives_the_trip_through_an_address(text: str) -> None:
    try:
        check_public_id("id", text)
    except Invalid:
        return
    assert unquote(quote(text, safe="")) == text
    assert 1 <= len(text) <= 255
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)
    assert text.strip() == text


def test_a_name_may_have_what_an_id_may_not() -> None:
    for text in ("A / B", "why?", " padded ", "#1", ".."):
        assert check_name("name", text) == text
    for text in ("", "x" * 256, "a\nb", "\ud800", "\ufffd"):
        with pytest.raises(Invalid, match="name: "):
            check_name("name", text)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=255))
def test_a_token_is_any_printable_ascii_without_blanks(text: str) -> None:
    assert check_token("token", text) == text


@pytest.mark.parametrize("text", ["", "a b", "a\t", "ü", "a\n", "\x7f", "x" * 256])
def test_a_token_that_no_header_can_carry_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="token: "):
        check_token("token", text)


def test_the_refusal_says_what_is_wrong() -> None:
    for text, sentence in (("x" * 300, "300 characters, at most 255"), ("a\x00", "U+0000"), ("", "empty")):
        with pytest.raises(Invalid) as refused:
            check_public_id("id", text)
        assert sentence in refused.value.detail
