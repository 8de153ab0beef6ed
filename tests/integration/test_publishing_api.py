"""Publishing: what was answered with 201 is stored with one job per consumer, and everything that was said about it."""

import json
from typing import Any

from tests.support.brokers import Broker
from tests.support.calls import (
    MESSAGE_ID,
    SCHEDULED_FOR,
    as_header,
    code_of,
    faults,
    get,
    parsed,
    send,
    send_batch,
)
from tests.support.rows import count, jobs
from tests.support.walk import PUBLISHER, register

PRIORITY, EXPIRES_AT, HOPS = "X-Broker-Message-Priority", "X-Broker-Expires-At", "X-Broker-Hop-Count"
METADATA = "X-Broker-Metadata"
BATCH = "/channel/channel/broadcast-batch"
BAD_HEADERS = [
    *[(PRIORITY, text) for text in ("10", "-1", "1.0", "high", "٣", "1" * 12)],
    *[(HOPS, text) for text in ("-1", "1000001", "many")],
    *[
        (header, text)
        for header in (SCHEDULED_FOR, EXPIRES_AT)
        for text in (
            "tomorrow",
            "2030-01-01",
            "2030-01-01T00:00:00",
            "2030-13-01T00:00:00Z",
            "1903-01-01T00:00:00Z",
            "1e9",
        )
    ],
    *[(METADATA, text) for text in ("[]", "x", '"a"', "{", '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', "\xff")],
    (METADATA, json.dumps({"a": "x" * 16_384})),
    (METADATA, '{"a":' * 60 + "1" + "}" * 60),
]
BAD_ITEMS: list[tuple[object, str]] = [
    (3, "message"),
    ([], "message"),
    ({"colour": "red"}, "colour"),
    ({"payload": "x", "payloadEncoding": "rot13"}, "payloadEncoding"),
    ({"payload": "???", "payloadEncoding": "base64"}, "payload"),
    ({"payload": {}, "payloadEncoding": "utf-8"}, "payload"),
    ({"payload": "\ud800"}, "payload"),
    ({"messageId": 5}, "messageId"),
    ({"priority": 10}, "priority"),
    ({"priority": "1"}, "priority"),
    ({"priority": 1.5}, "priority"),
    ({"priority": True}, "priority"),
    ({"hopCount": -1}, "hopCount"),
    ({"scheduledFor": "soon"}, "scheduledFor"),
    ({"scheduledFor": 5}, "scheduledFor"),
    ({"expiresAt": "never"}, "expiresAt"),
    ({"scheduledFor": "2999-01-02T00:00:00Z", "expiresAt": "2999-01-01T00:00:00Z"}, "expiresAt"),
    ({"headers": []}, "headers"),
    ({"headers": {"X-A": 1}}, "headers.X-A"),
    ({"headers": {"X A": "1"}}, "headers"),
    ({"headers": {"X-A": "a\nb"}}, "headers"),
    ({"headers": {"webhook-id": "1"}}, "headers"),
    ({"headers": {f"X-{n}": "" for n in range(51)}}, "headers"),
    ({"metadata": []}, "metadata"),
    ({"contentType": 1}, "contentType"),
]


def message(broker: Broker, headers: dict[str, str] | None = None, body: bytes = b"hello") -> Any:
    """Publish, and read it back."""
    sent = send(broker.client, headers or {}, body)
    assert sent.status_code == 201, sent.text
    return get(broker.client, sent.headers["Location"])


def test_each_consumer_gets_exactly_one_job_of_each_message(broker: Broker) -> None:
    for consumers in (0, 1, 7):
        names = [f"k{number}" for number in range(consumers)]
        register(broker.client, f"of{consumers}", tuple(names))
        place = send(broker.client, channel=f"of{consumers}").headers["Location"]
        assert [job["consumerId"] for job in get(broker.client, place)["jobs"]] == names
        assert send_batch(broker.client, {}, {}, {}, channel=f"of{consumers}")["created"] == 3
    assert (count(broker, "message"), count(broker, "job")) == (12, 4 * 1 + 4 * 7)
    for job in jobs(broker):
        assert (job["status"], job["retryAttemptCount"], job["replayCount"]) == (1001, 0, 0)
        assert job["earliestNextAttemptAt"] == job["deliverAt"] == job["receivedAt"]
        assert job["createdAt"] == job["statusChangedAt"] == job["receivedAt"]
        assert (job["deadAt"], job["deadReason"], job["expiresAt"], job["leaseToken"]) == (None, None, None, None)


def test_a_201_is_empty_and_its_location_is_the_message(broker: Broker) -> None:
    register(broker.client)
    sent = send(broker.client)
    assert (sent.status_code, sent.get_data(), sent.headers.get("Content-Type")) == (201, b"", None)
    found = get(broker.client, sent.headers["Location"])
    assert sent.headers["Location"] == f"/channel/channel/message/{found['id']}"
    assert (len(found["id"]), found["producedBy"], found["priority"], found["hopCount"]) == (20, "producer", 0, 0)
    assert (found["status"], found["dispatchedAt"], found["scheduledFor"]) == ("DISPATCHED", found["receivedAt"], None)
    assert (found["headers"], found["metadata"], found["expiresAt"]) == ({}, None, None)
    assert found["jobs"][0] == {
        **found["jobs"][0],
        "listenerEndpoint": None,
        "listenerName": "consumer",
        "status": "QUEUED",
        "state": "queued",
        "statusChangedAt": found["receivedAt"],
    }


def test_a_message_id_is_taken_once_in_its_channel(broker: Broker) -> None:
    client = broker.client
    register(client)
    register(client, "other")
    assert send(client, {MESSAGE_ID: "m"}, b"first").status_code == 201
    for headers in ({}, {SCHEDULED_FOR: "2999-01-01T00:00:00Z"}, {PRIORITY: "5"}):
        again = send(client, {MESSAGE_ID: "m", **headers}, b"second")
        assert (again.status_code, again.headers["Location"]) == (409, "/channel/channel/message/m")
        assert parsed(again)["location"] == "/channel/channel/message/m"
    assert send(client, {MESSAGE_ID: "m"}, channel="other").status_code == 201
    assert get(client, "/channel/channel/message/m")["payload"] == "first"
    assert (count(broker, "message"), count(broker, "job")) == (2, 2)


def test_a_batch_answers_for_each_message_in_order(broker: Broker) -> None:
    register(broker.client)
    send(broker.client, {MESSAGE_ID: "stored"})
    answer = send_batch(
        broker.client,
        {"messageId": "a", "payload": "first"},
        {"messageId": "stored"},
        {"messageId": "a", "payload": "second"},
        {"messageId": "b", "scheduledFor": "2999-01-01T00:00:00Z"},
        {"messageId": "a/b"},
        {},
    )
    assert (answer["created"], answer["duplicates"], answer["rejected"]) == (3, 2, 1)
    assert [one["status"] for one in answer["results"]] == [201, 409, 409, 201, 400, 201]
    assert [one.get("location") for one in answer["results"][:5]] == [
        "/channel/channel/message/a",
        "/channel/channel/message/stored",
        "/channel/channel/message/a",
        "/channel/channel/scheduled-message/b",
        None,
    ]
    assert answer["results"][1]["code"] == "duplicate-message"
    assert get(broker.client, answer["results"][5]["location"])["id"] == answer["results"][5]["messageId"]
    assert get(broker.client, "/channel/channel/message/a")["payload"] == "first"
    assert (count(broker, "message"), count(broker, "job")) == (4, 4)
    again = send_batch(broker.client, {"messageId": "a"}, {"messageId": "b"})
    assert (again["created"], again["duplicates"]) == (0, 2)


def test_a_batch_as_lines_answers_for_each_line(broker: Broker) -> None:
    register(broker.client)
    lines = b'{"messageId": "a"}\r\n\n  \n{"messageId": \n[1]\n{"messageId": "b", "payload": {"x": [1, "\xc3\xbc"]}}'
    headers = {**PUBLISHER, "Content-Type": "application/x-ndjson; charset=utf-8"}
    answer = parsed(broker.client.post(BATCH, data=lines, headers=headers))
    assert [one["status"] for one in answer["results"]] == [201, 400, 400, 201]
    shown = get(broker.client, "/channel/channel/message/b")
    assert (shown["payload"], shown["contentType"]) == ('{"x":[1,"ü"]}', "application/json")


def test_a_batch_has_one_to_a_thousand_messages(broker: Broker) -> None:
    register(broker.client)
    assert send_batch(broker.client, *[{}] * 1000)["created"] == 1000
    wrong: list[object] = [[], [{}] * 1001, {}, None, "x"]
    for messages in wrong:
        refused = broker.client.post(BATCH, json={"messages": messages}, headers=PUBLISHER)
        assert faults(refused) == ["messages"]
    for body in (b"", b"{", b"\xff", b'{"messages": [NaN]}', b"[" * 3000):
        refused = broker.client.post(BATCH, data=body, headers={**PUBLISHER, "Content-Type": "application/json"})
        assert faults(refused) == ["body"], body
    other = broker.client.post(BATCH, json={"messages": [{}], "colour": "red"}, headers=PUBLISHER)
    assert faults(other) == ["colour"]
    assert code_of(broker.client.post(BATCH, data=b"{}", headers=PUBLISHER)) == (415, "unsupported-media-type")
    lines = {**PUBLISHER, "Content-Type": "application/x-ndjson"}
    assert faults(broker.client.post(BATCH, data=b"\n" * 5, headers=lines)) == ["messages"]
    assert faults(broker.client.post(BATCH, data=b"{}\n" * 1001, headers=lines)) == ["messages"]
    assert (count(broker, "message"), count(broker, "job")) == (1000, 1000)


def test_a_bad_header_is_refused_by_name_and_nothing_is_stored(broker: Broker) -> None:
    register(broker.client)
    for header, text in BAD_HEADERS:
        sent = send(broker.client, {header: text if text == "\xff" else as_header(text)})
        assert faults(sent) == [header], (header, text)
    late = {SCHEDULED_FOR: "2999-01-02T00:00:00Z", EXPIRES_AT: "2999-01-01T00:00:00Z"}
    assert faults(send(broker.client, late)) == [EXPIRES_AT]
    several = {PRIORITY: "11", HOPS: "1000001", MESSAGE_ID: ".."}
    assert sorted(faults(send(broker.client, several))) == sorted(several)
    assert count(broker, "message") == 0


def test_a_bad_field_of_a_batch_is_named_and_spoils_its_own_message_only(broker: Broker) -> None:
    register(broker.client)
    answer = send_batch(broker.client, *(item for item, _ in BAD_ITEMS), {"messageId": "good"})
    assert (answer["created"], answer["rejected"]) == (1, len(BAD_ITEMS))
    found = [[error["field"] for error in one["errors"]] for one in answer["results"][:-1]]
    assert found == [[field] for _, field in BAD_ITEMS]
    assert count(broker, "message") == 1


def test_a_payload_nested_too_deep_is_refused_and_breaks_nothing(broker: Broker) -> None:
    register(broker.client)
    headers = {**PUBLISHER, "Content-Type": "application/json"}
    for depth in (10, *range(880, 1000, 6), 100_000):
        body = '{"messages": [{"payload": ' + "[" * depth + "]" * depth + "}]}"
        assert broker.client.post(BATCH, data=body, headers=headers).status_code in (200, 400)
    assert count(broker, "message") > 0


def test_priorities_from_0_to_9_are_kept_on_the_jobs(broker: Broker) -> None:
    register(broker.client)
    for priority in range(10):
        assert message(broker, {PRIORITY: str(priority)})["priority"] == priority
    send_batch(broker.client, *({"priority": priority} for priority in range(10)))
    assert [job["priority"] for job in jobs(broker)] == [*range(10), *range(10)]
