"""What a caller may change: only what is given, checked together, named when refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.domain.changes import (
    CONSUMER_FIELDS,
    Change,
    parse_channel_change,
    parse_consumer_change,
    parse_producer_change,
)
from broker.domain.errors import Invalid
from broker.domain.settings import overridable

PARSERS = [parse_producer_change, parse_channel_change, parse_consumer_change]


def fault(parse: Any, raw: dict[str, object]) -> list[str]:
    with pytest.raises(Invalid) as refused:
        parse(raw)
    return [problem.field for problem in refused.value.problems]


@pytest.mark.parametrize("parse", PARSERS)
def test_nothing_given_is_nothing_changed(parse: Any) -> None:
    assert parse({}) == Change({}, {})


def test_a_change_holds_only_what_was_given() -> None:
    change = parse_consumer_change({"name": "N", "callbackUrl": "http://a/", "maxRetries": 5, "lease": None})
    assert change.fields == {"name": "N", "callbackUrl": "http://a/"}
    assert change.overrides == {"max_retries": 5, "lease": None}
    assert (change.get("name"), change.get("token"), change.get("paused", True)) == ("N", None, True)


def test_none_and_nothing_take_away_what_can_be_absent() -> None:
    for empty in (None, ""):
        change = parse_consumer_change({"deadChannel": empty, "callbackUrl": empty})
        assert change.fields == {"deadChannel": None, "callbackUrl": None}
        assert change.get("deadChannel", "held") is None


def test_an_empty_type_is_push() -> None:
    assert parse_consumer_change({"type": ""}).fields["type"] == "push"
    assert parse_consumer_change({"type": "pull"}).fields["type"] == "pull"


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ({"token": ""}, ["token"]),
        ({"token": None, "name": None}, ["token", "name"]),
        ({"name": 5, "paused": 1, "deadChannel": 5}, ["name", "paused", "deadChannel"]),
        ({"type": "both", "callbackUrl": "ftp://x", "signingSecret": "a b"}, ["type", "callbackUrl", "signingSecret"]),
        ({"type": None}, ["type"]),
        ({"type": ["pull"]}, ["type"]),
        ({"colour": "red", "lease": 0, "name": ""}, ["name", "colour", "lease"]),
    ],
)
def test_every_fault_is_named_at_once(raw: dict[str, object], named: list[str]) -> None:
    assert fault(parse_consumer_change, raw) == named


def test_each_kind_of_entry_has_its_own_fields() -> None:
    given_fields: dict[str, object] = {
        "type": "pull",
        "callbackUrl": None,
        "signingSecret": "s",
        "paused": True,
        "lease": 5,
    }
    assert fault(parse_producer_change, given_fields) == [*given_fields]
    assert fault(parse_channel_change, given_fields) == ["type", "callbackUrl", "signingSecret"]
    assert parse_consumer_change(given_fields).overrides == {"lease": 5}


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.lists(st.integers(), max_size=2)
)
FIELDS = st.sampled_from([*CONSUMER_FIELDS, *(one.json_name for one in overridable()), "retry", "colour"])


@settings(max_examples=40)
@given(st.dictionaries(FIELDS, VALUES, max_size=5))
def test_any_values_are_taken_field_by_field_or_refused_with_a_name(raw: dict[str, object]) -> None:
    try:
        change = parse_consumer_change(raw)
    except Invalid as refused:
        assert refused.problems
        assert all(problem.message for problem in refused.problems)
    else:
        assert change.fields.keys() == raw.keys() & CONSUMER_FIELDS.keys()
