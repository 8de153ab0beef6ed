"""Channels and consumers set some settings for themselves: stored, shown and resolved exactly."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.overrides import overrides_to_json, parse_message_overrides, parse_overrides, resolve
from broker.domain.setting_types import JsonValue
from broker.domain.settings import BY_KEY, check_together, overridable
from tests.unit.setting_values import values_of

READ: list[tuple[dict[str, object], dict[str, JsonValue]]] = [
    ({}, {}),
    ({"maxRetries": 5}, {"max_retries": 5}),
    ({"maxRetries": None}, {"max_retries": None}),
    ({"retryBase": "1m30s", "retryCap": 3600.0}, {"retry_base": 90, "retry_cap": 3600}),
    ({"retryBase": 0.5}, {"retry_base": 0.5}),
    ({"retrySchedule": ["5s", 30, 0.25]}, {"retry_schedule": [5, 30, 0.25]}),
    ({"expireAfter": "none", "consumerRate": "off"}, {"expire_after": "none", "consumer_rate": "none"}),
    (
        {"retry": {"attempts": 3, "cooldown": "30s"}},
        {"retry_policy": "fixed", "max_retries": 2, "retry_base": 30},
    ),
    ({"retry": {"attempts": 3}}, {"retry_policy": "fixed", "max_retries": 2}),
    ({"retry": {"cooldown": 1}, "retryCap": 1}, {"retry_policy": "fixed", "retry_base": 1, "retry_cap": 1}),
    ({"retry": {}}, {"retry_policy": "fixed"}),
    ({"retry": None}, {"retry_policy": None, "max_retries": None, "retry_base": None}),
]
REFUSED: list[tuple[dict[str, object], list[str]]] = [
    ({"maxRetries": "3"}, ["maxRetries"]),
    ({"max_retries": 3}, ["max_retries"]),
    ({"deadChannel": "dlq"}, ["deadChannel"]),
    ({"maxHops": 3}, ["maxHops"]),
    ({"adminToken": "x"}, ["adminToken"]),
    ({"": 1}, [""]),
    ({"lease": "0s", "retryJitter": 2, "colour": "red"}, ["lease", "retryJitter", "colour"]),
    ({"retry": 3}, ["retry"]),
    ({"retry": [1]}, ["retry"]),
    ({"retry": {"attempts": 101, "cooldown": "soon"}}, ["retry.attempts", "retry.cooldown"]),
    ({"retry": {"attempts": 1, "delay": 1, "maxRetries": 1}}, ["retry.delay", "retry.maxRetries"]),
    ({"retry": {"attempts": 1}, "maxRetries": 1}, ["maxRetries"]),
    ({"retry": None, "retryPolicy": None, "retryBase": None}, ["retryPolicy", "retryBase"]),
    ({"retryBase": "2m", "retryCap": "1m"}, ["retryBase"]),
    ({"retry": {"cooldown": "2m"}, "retryCap": "1m"}, ["retryBase"]),
    ({"connectTimeout": 3, "deliveryTimeout": 2}, ["connectTimeout"]),
]


@pytest.mark.parametrize(("raw", "stored"), READ)
def test_overrides_are_stored_in_one_form(raw: dict[str, object], stored: dict[str, JsonValue]) -> None:
    problems: list[FieldProblem] = []
    assert parse_overrides(raw, problems) == stored
    assert problems == []


@pytest.mark.parametrize(("raw", "fields"), REFUSED)
def test_every_field_at_fault_is_named(raw: dict[str, object], fields: list[str]) -> None:
    problems: list[FieldProblem] = []
    parse_overrides(raw, problems)
    assert [problem.field for problem in problems] == fields
    assert all(problem.message for problem in problems)


def test_a_contradiction_is_told_in_the_names_of_the_api() -> None:
    problems: list[FieldProblem] = []
    parse_overrides({"connectTimeout": 90, "deliveryTimeout": 2}, problems)
    assert problems == [("connectTimeout", "1m30s is longer than deliveryTimeout, which is 2s")]


def test_problems_are_added_to_those_already_found() -> None:
    problems = [FieldProblem("name", "cannot be empty")]
    parse_overrides({"lease": True}, problems)
    assert [problem.field for problem in problems] == ["name", "lease"]


def test_json_shows_only_what_is_set_in_the_order_of_the_table() -> None:
    stored: dict[str, JsonValue] = {"lease": 5, "max_retries": None, "retry_cap": "none"}
    shown = overrides_to_json({**stored, "retry_policy": "never"})
    assert list(shown.items()) == [("retryPolicy", "never"), ("retryCap", "none"), ("lease", 5)]


def test_the_nearest_layer_that_sets_a_value_decides() -> None:
    consumer: dict[str, JsonValue] = {"max_retries": None, "expire_after": "none"}
    channel: dict[str, JsonValue] = {"max_retries": 7, "expire_after": 60}
    assert resolve("max_retries", 3, consumer, channel) == 7
    assert resolve("expire_after", 3600.0, consumer, channel) is None
    assert resolve("lease", 60.0, consumer, channel) == 60.0


ANY_OVERRIDES = st.fixed_dictionaries({}, optional={one.key: values_of(one) for one in overridable()})


@settings(max_examples=25)
@given(ANY_OVERRIDES.filter(lambda values: not check_together(values)))
def test_any_overrides_come_back_as_they_were_given(values: dict[str, Any]) -> None:
    problems: list[FieldProblem] = []
    raw = {BY_KEY[key].json_name: BY_KEY[key].to_json(value) for key, value in values.items()}
    stored = parse_overrides(raw, problems)
    assert problems == []
    assert overrides_to_json(stored) == raw
    assert {key: resolve(key, "default", stored) for key in values} == values


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from([*(one.json_name for one in overridable()), "retry", "colour"])


@settings(max_examples=25)
@given(st.dictionaries(NAMES, JSON, max_size=6))
def test_any_json_is_stored_or_refused_field_by_field(raw: dict[str, object]) -> None:
    problems: list[FieldProblem] = []
    stored = parse_overrides(raw, problems)
    again: list[FieldProblem] = []
    kept = {key: value for key, value in stored.items() if value is not None}
    assert parse_overrides(overrides_to_json(stored), again) == kept
    assert {problem.field for problem in again} <= {problem.field for problem in problems}


OF_A_MESSAGE: list[tuple[dict[str, object], dict[str, JsonValue] | None]] = [
    ({}, None),
    ({"retryCap": None, "retry": None}, None),
    ({"maxRetries": 0}, {"max_retries": 0}),
    ({"retryPolicy": "linear", "retryCap": "1h"}, {"retry_policy": "linear", "retry_cap": 3600}),
    ({"retryBase": "none", "retryJitter": 0.5}, {"retry_base": "none", "retry_jitter": 0.5}),
    ({"retrySchedule": ["1s", 2], "maxRetries": None}, {"retry_schedule": [1.0, 2.0]}),
    ({"retry": {"attempts": 2, "cooldown": "1m"}}, {"retry_policy": "fixed", "max_retries": 1, "retry_base": 60}),
]


@pytest.mark.parametrize(("raw", "stored"), OF_A_MESSAGE)
def test_a_message_sets_its_own_retries_and_null_is_nothing(
    raw: dict[str, object], stored: dict[str, JsonValue] | None
) -> None:
    assert parse_message_overrides(raw) == stored


NOT_OF_A_MESSAGE: list[tuple[object, list[str]]] = [
    ([], ["overrides"]),
    ("maxRetries=3", ["overrides"]),
    ({"lease": 5, "colour": 1}, ["overrides.lease", "overrides.colour"]),
    ({"retryJitter": 2, "retry": {"delay": 1}}, ["overrides.retryJitter", "overrides.retry.delay"]),
    ({"retryBase": "2m", "retryCap": "1m", "lease": 5}, ["overrides.lease", "overrides.retryBase"]),
    ({"max_retries": 1}, ["overrides.max_retries"]),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "fields"), NOT_OF_A_MESSAGE)
def test_a_message_sets_nothing_but_its_retries(raw: object, fields: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        parse_message_overrides(raw)
    assert [problem.field for problem in refused.value.problems] == fields


def test_every_retry_setting_and_no_other_can_be_set_by_a_message() -> None:
    keys = [one.key for one in overridable() if "retr" in one.key]
    assert len(keys) == 6
    raw = {BY_KEY[key].json_name: BY_KEY[key].to_json(BY_KEY[key].default) for key in keys}
    assert set(parse_message_overrides(raw) or ()) == set(keys)
    for other in overridable():
        if other.key not in keys:
            with pytest.raises(Invalid, match=other.json_name):
                parse_message_overrides({other.json_name: None})
