"""Tokens: long enough to need no slow hash, never stored, compared without telling how much was right."""

from hypothesis import given
from hypothesis import strategies as st

from broker.domain.tokens import hash_token, make_token, secrets_equal, token_matches

TEXTS = st.text(max_size=50)


def test_made_tokens_are_long_different_and_fit_a_header() -> None:
    made = {make_token() for _ in range(200)}
    assert len(made) == 200
    assert all(len(token) == 43 and token.isascii() and " " not in token for token in made)


@given(TEXTS, TEXTS)
def test_only_the_token_itself_matches_its_hash(token: str, other: str) -> None:
    stored = hash_token(token)
    assert token_matches(token, stored)
    assert token_matches(other, stored) == (token == other)
    assert not token_matches(token, hash_token(token + "x"))


@given(TEXTS)
def test_nothing_matches_what_does_not_exist(token: str) -> None:
    assert not token_matches(token, None)


def test_the_same_token_is_stored_differently_each_time_and_never_in_clear() -> None:
    stored = {hash_token("the-token") for _ in range(20)}
    assert len(stored) == 20
    assert all("the-token" not in one and len(one) == 32 + 1 + 64 for one in stored)


@given(TEXTS, TEXTS)
def test_secrets_in_memory_are_equal_when_they_are(one: str, other: str) -> None:
    assert secrets_equal(one, other) == (one == other)
    assert secrets_equal(one, one)


def test_a_token_with_a_lone_surrogate_is_just_wrong() -> None:
    assert not token_matches("\ud800", hash_token("x"))
    assert not secrets_equal("\ud800", "x")
