"""A message can bring retry settings of its own; they are checked, stored by key, and shown as they were meant."""

import json

from tests.support.brokers import Broker
from tests.support.calls import MESSAGE_ID, SCHEDULED_FOR, faults, get, send, send_batch
from tests.support.rows import count, rows
from tests.support.walk import register

OVERRIDES = "X-Broker-Overrides"
LATER = "2999-01-01T00:00:00Z"
TAKEN: list[tuple[dict[str, object], dict[str, object] | None]] = [
    ({}, None),
    ({"maxRetries": None}, None),
    ({"maxRetries": 0}, {"maxRetries": 0}),
    ({"retryPolicy": "schedule", "retrySchedule": ["1s", 2.5]}, {"retryPolicy": "schedule", "retrySchedule": [1, 2.5]}),
    (
        {"retryBase": "1m", "retryCap": "none", "retryJitter": 1},
        {"retryBase": 60, "retryCap": "none", "retryJitter": 1},
    ),
    ({"retry": {"attempts": 2, "cooldown": 5}}, {"retryPolicy": "fixed", "maxRetries": 1, "retryBase": 5}),
]
REFUSED: list[tuple[dict[str, object], list[str]]] = [
    ({"lease": 5}, ["lease"]),
    ({"colour": "red", "dlqStrategy": "disabled"}, ["colour", "dlqStrategy"]),
    ({"maxRetries": 101}, ["maxRetries"]),
    ({"retry": {"attempts": 1}, "maxRetries": 1}, ["maxRetries"]),
    ({"retry": {"attempts": -2}}, ["retry.attempts"]),
    ({"retryBase": "2m", "retryCap": "1m"}, ["retryBase"]),
]


def test_a_header_holds_the_overrides_of_a_message(broker: Broker) -> None:
    register(broker.client)
    for given, shown in TAKEN:
        place = send(broker.client, {OVERRIDES: json.dumps(given)}).headers["Location"]
        assert get(broker.client, place)["overrides"] == shown, given
    assert get(broker.client, send(broker.client, {OVERRIDES: ""}).headers["Location"])["overrides"] is None
    assert get(broker.client, send(broker.client, {}).headers["Location"])["overrides"] is None


def test_a_message_of_a_batch_holds_its_own(broker: Broker) -> None:
    register(broker.client)
    answer = send_batch(broker.client, *({"overrides": given} for given, _ in TAKEN), {"overrides": None}, {})
    found = [get(broker.client, result["location"])["overrides"] for result in answer["results"]]
    assert found == [*(shown for _, shown in TAKEN), None, None]


def test_they_are_stored_by_key_and_as_null_when_there_are_none(broker: Broker) -> None:
    register(broker.client)
    send(broker.client, {MESSAGE_ID: "a", OVERRIDES: '{"maxRetries": 2, "retryBase": "1m"}'})
    send(broker.client, {MESSAGE_ID: "b", OVERRIDES: '{"maxRetries": null}'})
    send(broker.client, {MESSAGE_ID: "c"})
    stored = {row["messageId"]: row["overrides"] for row in rows(broker, "SELECT * FROM message")}
    assert json.loads(stored.pop("a")) == {"max_retries": 2, "retry_base": 60}
    assert stored == {"b": None, "c": None}


def test_anything_else_is_refused_by_its_name_and_nothing_is_stored(broker: Broker) -> None:
    register(broker.client)
    for given, fields in REFUSED:
        assert faults(send(broker.client, {OVERRIDES: json.dumps(given)})) == [f"{OVERRIDES}.{one}" for one in fields]
        result = send_batch(broker.client, {"overrides": given})["results"][0]
        assert [error["field"] for error in result["errors"]] == [f"overrides.{one}" for one in fields]
    for text in ("x", "[]", "3", "null", '{"maxRetries": NaN}', "{"):
        assert faults(send(broker.client, {OVERRIDES: text})) == [OVERRIDES], text
    assert count(broker, "message") == 0


def test_a_scheduled_message_shows_its_overrides_too(broker: Broker) -> None:
    register(broker.client)
    send(broker.client, {MESSAGE_ID: "m", SCHEDULED_FOR: LATER, OVERRIDES: '{"retryPolicy": "never"}'})
    for path in ("message", "scheduled-message"):
        assert get(broker.client, f"/channel/channel/{path}/m")["overrides"] == {"retryPolicy": "never"}
