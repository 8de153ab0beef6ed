"""Messages of a batch: JSON in, a checked publication out, or every field at fault by name."""

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.domain.errors import Invalid
from broker.domain.items import FIELDS, parse_item

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def fault(raw: object) -> list[str]:
    with pytest.raises(Invalid) as refused:
        parse_item(raw)
    return [problem.field for problem in refused.value.problems]


def test_an_empty_item_is_an_empty_message() -> None:
    item = parse_item({})
    assert (item.payload, item.content_type, item.message_id) == (b"", "application/octet-stream", None)
    assert (item.priority, item.hop_count, item.headers, item.metadata) == (0, 0, None, None)
    assert (item.scheduled_for, item.expires_at, item.overrides) == (None, None, None)
    assert parse_item(dict.fromkeys(FIELDS - {"payload", "payloadEncoding"})) == item


def test_a_full_item_is_taken_as_it_is() -> None:
    item = parse_item(
        {"payload": "aGk=", "payloadEncoding": "base64", "contentType": "text/plain", "messageId": "m", "priority": 9,
         "scheduledFor": "2030-01-01T00:00:00Z", "expiresAt": "2030-01-02T00:00:00Z", "headers": {"X-A": "1"},
         "metadata": {"a": [1]}, "hopCount": 3}
    )  # fmt: skip
    assert (item.payload, item.content_type, item.message_id, item.priority) == (b"hi", "text/plain", "m", 9)
    assert (item.scheduled_for, item.expires_at) == (datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 2, tzinfo=UTC))
    assert (item.headers, item.metadata, item.hop_count) == ({"X-A": "1"}, {"a": [1]}, 3)


@given(st.binary())
def test_bytes_travel_as_base64(body: bytes) -> None:
    item = parse_item({"payload": base64.b64encode(body).decode(), "payloadEncoding": "base64"})
    assert item.payload == body


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_travels_as_utf8(text: str) -> None:
    assert parse_item({"payload": text}).payload == text.encode()


@pytest.mark.parametrize("value", [None, True, 0, 1.5, [], [1, "ü"], {}, {"a": {"b": None}}])
def test_any_other_json_travels_as_json(value: object) -> None:
    item = parse_item({"payload": value})
    assert json.loads(item.payload) == value
    assert item.content_type == "application/json"
    assert parse_item({"payload": value, "contentType": "application/x+json"}).content_type == "application/x+json"


def test_overrides_are_taken_by_key_and_refused_by_name() -> None:
    assert parse_item({"overrides": {"maxRetries": 0, "retryBase": "1m"}}).overrides == {
        "max_retries": 0,
        "retry_base": 60,
    }
    assert parse_item({"overrides": {}}).overrides is None
    assert fault({"overrides": {"lease": 1}, "priority": "x"}) == ["overrides.lease", "priority"]
    assert fault({"overrides": []}) == ["overrides"]


def test_unknown_fields_are_all_named() -> None:
    assert fault({"colour": 1, "payload": "x", "Payload": 2}) == ["colour", "Payload"]


def test_a_payload_nested_beyond_all_measure_is_refused() -> None:
    deep: object = 1
    for _ in range(20_000):
        deep = [deep]
    assert fault({"payload": deep}) == ["payload"]


@settings(max_examples=40)
@given(JSON | st.dictionaries(st.sampled_from(sorted(FIELDS)), JSON, max_size=4))
def test_any_json_is_a_message_or_refused_with_a_name(raw: object) -> None:
    try:
        item = parse_item(raw)
    except Invalid as refused:
        assert refused.problems
        assert all(problem.field and problem.message for problem in refused.problems if problem.field in FIELDS)
    else:
        assert isinstance(item.payload, bytes)
        assert 0 <= item.priority <= 9
