"""The table of settings says what PRODUCT.md section 13 says, and every kind keeps to its range."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.domain.setting import Setting
from broker.domain.setting_addresses import HostPort
from broker.domain.setting_times import Duration
from broker.domain.setting_types import Integer, Number
from broker.domain.settings import BY_KEY, SETTINGS, check_together, overridable
from tests.unit.setting_values import values_of

DEFAULTS = {
    "database_url": "sqlite:///var/broker.db",
    "database_pool": 10,
    "listen": HostPort("127.0.0.1", 8080),
    "metrics_listen": None,
    "http_workers": None,
    "http_threads": None,
    "admin_token": None,
    "monitor_token": None,
    "secret_key": None,
    "broker_id": "broker",
    "log_level": "info",
    "max_payload_bytes": 5_000_000,
    "schedule_min_ahead": 0,
    "retry_policy": "auto",
    "max_retries": 3,
    "retry_base": None,
    "retry_cap": None,
    "retry_schedule": (5, 30, 60),
    "retry_jitter": 0,
    "delivery_timeout": 30,
    "connect_timeout": 5,
    "delivery_workers": None,
    "delivery_concurrency": 256,
    "consumer_concurrency": 64,
    "consumer_rate": None,
    "delivery_allowed_networks": (),
    "delivery_denied_networks": (),
    "delivery_ca": None,
    "reads_success": False,
    "consumer_token_header": "X-Broker-Consumer-Token",
    "lease": 60,
    "breaker_threshold": 5,
    "breaker_open": 60,
    "expire_after": None,
    "max_hops": 20,
    "retry_processor_enabled": True,
    "retry_interval": 60,
    "dlq_enabled": True,
    "dlq_strategy": "automatic",
    "dead_letter_mode": "retain",
    "dead_channel": None,
    "dead_channel_template": "dlq.{broker_id}.{consumer_id}",
    "dlq_max_size": 10_000,
    "dlq_full_policy": "alert",
    "dlq_summary_interval": 600,
    "dlq_settle": 30,
    "dlq_chunk": 5_000,
    "dlq_archive_after": None,
    "dlq_undo_grace": 86_400,
    "quarantine_after": 3,
    "prune_after": None,
}
# key: texts at the ends of the range of PRODUCT.md, and texts just outside it
RANGES = {
    "max_payload_bytes": (["1000", "16000000"], ["999", "16000001"]),
    "max_retries": (["-1", "0", "100"], ["-2", "101"]),
    "retry_jitter": (["0", "1"], ["-0.01", "1.01"]),
    "lease": (["1s", "12h"], ["999ms", "43201"]),
    "breaker_threshold": (["0"], ["-1"]),
    "max_hops": (["0"], ["-1"]),
    "retry_interval": (["10s", "1h"], ["9s", "1h1s"]),
    "dlq_max_size": (["0"], ["-1"]),
    "dlq_summary_interval": (["1s"], ["999ms"]),
    "dlq_settle": (["100ms"], ["99ms"]),
    "dlq_chunk": (["100", "50000"], ["99", "50001"]),
    "quarantine_after": (["0"], ["-1"]),
    "schedule_min_ahead": (["0s"], ["-1s"]),
}
CHOICES = {
    "retry_policy": ("auto", "exponential", "linear", "fixed", "immediate", "schedule", "never"),
    "dlq_strategy": ("automatic", "selective", "manual", "disabled"),
    "dead_letter_mode": ("retain", "move", "discard"),
    "dlq_full_policy": ("alert", "reject", "archive_oldest"),
    "log_level": ("debug", "info", "warning", "error"),
}
OUTSIDE = r"out of range|not a number from|negative"
OVERRIDABLE = (
    "retryPolicy maxRetries retryBase retryCap retrySchedule retryJitter deliveryTimeout connectTimeout "
    "consumerConcurrency consumerRate deliveryCa readsSuccess lease breakerThreshold breakerOpen expireAfter "
    "dlqStrategy deadLetterMode dlqMaxSize dlqFullPolicy"
)


def test_the_table_has_the_settings_and_defaults_of_the_product() -> None:
    assert {one.key: one.default for one in SETTINGS} == DEFAULTS


def test_what_channel_and_consumer_may_override_is_what_the_product_marks() -> None:
    assert [one.json_name for one in overridable()] == OVERRIDABLE.split()
    assert {one.key for one in SETTINGS if one.overridable and one not in overridable()} == {"dead_channel"}


def test_only_tokens_and_the_key_are_secret() -> None:
    assert [one.key for one in SETTINGS if one.secret] == ["admin_token", "monitor_token", "secret_key"]


def test_the_names_of_a_setting_derive_from_its_key() -> None:
    setting = BY_KEY["max_payload_bytes"]
    names = (setting.environment_name, setting.option_name, setting.json_name)
    assert names == ("BROKER_MAX_PAYLOAD_BYTES", "--max-payload-bytes", "maxPayloadBytes")


def test_every_setting_explains_itself() -> None:
    assert [one.key for one in SETTINGS if not one.help or not one.limits] == []
    optional = [one for one in SETTINGS if one.optional]
    assert optional == [one for one in SETTINGS if one.default is None or one.key == "consumer_token_header"]
    assert optional == [one for one in SETTINGS if one.limits.endswith(", or none")]


def _cases(which: int) -> list[tuple[str, str]]:
    return [(key, text) for key, ends in RANGES.items() for text in ends[which]]


@pytest.mark.parametrize(("key", "text"), _cases(0))
def test_the_ends_of_each_range_of_the_product_are_allowed(key: str, text: str) -> None:
    assert BY_KEY[key].parse_text(text) is not None


@pytest.mark.parametrize(("key", "text"), _cases(1))
def test_just_outside_each_range_of_the_product_is_refused(key: str, text: str) -> None:
    with pytest.raises(ValueError, match=OUTSIDE):
        BY_KEY[key].parse_text(text)


@pytest.mark.parametrize(("key", "choices"), CHOICES.items())
def test_the_choices_of_the_product_are_allowed_and_no_others(key: str, choices: tuple[str, ...]) -> None:
    assert tuple(BY_KEY[key].parse_native(choice) for choice in choices) == choices
    with pytest.raises(ValueError, match=f"'other' is not one of {', '.join(choices)}"):
        BY_KEY[key].parse_text("other")


RANGED = [one for one in SETTINGS if isinstance(one.kind, Integer | Number | Duration)]


def _outside(kind: Integer | Number | Duration) -> tuple[float, float]:
    step = 1 if isinstance(kind, Integer) else 0.001
    return kind.low - step, kind.high + step


@pytest.mark.parametrize("setting", RANGED, ids=lambda one: one.key)
def test_both_ends_of_every_range_are_allowed_in_both_forms(setting: Setting) -> None:
    for end in (setting.kind.low, setting.kind.high):  # type: ignore[attr-defined]
        assert setting.parse_native(end) == end
        assert setting.parse_text(setting.to_text(end)) == end


@pytest.mark.parametrize("setting", RANGED, ids=lambda one: one.key)
def test_beyond_both_ends_of_every_range_is_refused_in_both_forms(setting: Setting) -> None:
    for outside in _outside(setting.kind):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=OUTSIDE):
            setting.parse_native(outside)
        with pytest.raises(ValueError, match=OUTSIDE):
            setting.parse_text(str(outside))


def test_every_default_survives_text_and_json() -> None:
    defaults = [one.default for one in SETTINGS]
    assert [one.parse_text(one.to_text(one.default)) for one in SETTINGS] == defaults
    assert [one.parse_native(one.to_json(one.default)) for one in SETTINGS] == defaults


ANY_SETTING = st.sampled_from(SETTINGS)


@settings(max_examples=50)
@given(ANY_SETTING.flatmap(lambda setting: st.tuples(st.just(setting), values_of(setting))))
def test_every_value_survives_text_and_json(case: tuple[Setting, Any]) -> None:
    setting, value = case
    assert setting.parse_text(setting.to_text(value)) == value
    assert setting.parse_native(setting.to_json(value)) == value


JUNK = st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.lists(st.text() | st.floats())


@settings(max_examples=50)
@given(ANY_SETTING, JUNK)
def test_anything_is_read_or_refused_with_a_sentence(setting: Setting, raw: object) -> None:
    parse: Callable[[Any], Any] = setting.parse_text if isinstance(raw, str) else setting.parse_native
    value, refusal = _attempt(parse, raw)
    assert refusal or setting.parse_text(setting.to_text(value)) == value


def _attempt(parse: Callable[[Any], Any], raw: object) -> tuple[Any, str]:
    try:
        return parse(raw), ""
    except ValueError as refusal:
        return None, str(refusal)


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        ({"retry_base": 10.0, "retry_cap": 10.0}, []),
        ({"retry_base": 11.0, "retry_cap": 10.0}, ["retry_base"]),
        ({"retry_base": None, "retry_cap": 10.0}, []),
        ({"retry_base": 11.0, "retry_cap": None}, []),
        ({"connect_timeout": 31.0, "delivery_timeout": 30.0}, ["connect_timeout"]),
        ({"connect_timeout": 31, "delivery_timeout": 30, "retry_cap": 1}, ["connect_timeout"]),
        ({}, []),
    ],
)
def test_settings_that_contradict_each_other_are_named(values: dict[str, object], fields: list[str]) -> None:
    assert [problem.field for problem in check_together(values)] == fields
