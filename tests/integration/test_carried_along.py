"""What travels with a message: headers that the producer names, metadata, and the count of its hops."""

import json

from tests.support.brokers import Broker, make_broker
from tests.support.calls import MESSAGE_ID, as_header, faults, get, send, send_batch
from tests.support.rows import count, rows, value
from tests.support.walk import register

CARRIED, METADATA, HOPS = "X-Broker-Metadata-Headers", "X-Broker-Metadata", "X-Broker-Hop-Count"
ALWAYS_SENT = {"x-broker-channel-token", "x_broker_channel_token", "x-broker-producer-token", "host", "content_length"}
SENT = {"X-One": "1", "x-two": "zwei, drei", "X-Three": as_header("Grüße 🦆"), "Authorization": "Bearer theirs"}


LISTED: list[tuple[str, dict[str, str]]] = [
    ("X-One", {"X-One": "1"}),
    ("x-one,X-TWO", {"x-one": "1", "X-TWO": "zwei, drei"}),
    ("X-One X-Two", {"X-One": "1", "X-Two": "zwei, drei"}),
    (" ,X-One ,, X-Three\t", {"X-One": "1", "X-Three": "Grüße 🦆"}),
    ("X-One,X-Missing", {"X-One": "1"}),
    ("X-Broker-Message-Priority", {}),
    ("X-One, x-one, X-ONE", {"X-ONE": "1"}),
    ("Authorization", {"Authorization": "Bearer theirs"}),
    (", ,", {}),
]


def test_headers_that_the_producer_names_are_carried_along(broker: Broker) -> None:
    register(broker.client)
    for listed, carried in LISTED:
        place = send(broker.client, {**SENT, CARRIED: listed}).headers["Location"]
        assert get(broker.client, place)["headers"] == carried, listed


def test_the_brokers_own_headers_cannot_be_carried_along(broker: Broker) -> None:
    register(broker.client)
    for name in (
        "X-Broker-Channel-Token", "x-broker-producer-token", "X_Broker_Channel_Token", "X-Broker-Anything", "Host",
        "Content-Type", "content_length", "User-Agent", "Transfer-Coding", "Connection", "Keep-Alive", "TE",
        "Proxy-Authorization", "Webhook-Signature", "webhook_id", "X-Request-ID", "Upgrade", "Trailer", "Expect",
    ):  # fmt: skip
        given = {} if name.lower() in ALWAYS_SENT else {name: "1/1"}
        assert faults(send(broker.client, {**given, CARRIED: f"X-One {name}", "X-One": "1"})) == [CARRIED], name
        assert send_batch(broker.client, {"headers": {name: "1"}})["results"][0]["status"] == 400
    assert count(broker, "message") == 0


def test_at_most_fifty_headers_are_carried_along(broker: Broker) -> None:
    register(broker.client)
    sent = {f"X-{number}": "v" for number in range(51)}
    fifty = send(broker.client, {**sent, CARRIED: ",".join([*sent][:50])})
    assert len(get(broker.client, fifty.headers["Location"])["headers"]) == 50
    assert faults(send(broker.client, {**sent, CARRIED: ",".join(sent)})) == [CARRIED]
    assert faults(send(broker.client, {"X-Long": "x" * 16_384, CARRIED: "X-Long"})) == [CARRIED]
    unsent = ",".join(f"X-Unsent-{number}" for number in range(60))
    assert send(broker.client, {CARRIED: unsent}).status_code == 201


def test_metadata_comes_back_as_it_was_given(broker: Broker) -> None:
    register(broker.client)
    for metadata in (
        {},
        {"a": 1, "b": [1.5, None, True, {"c": "Grüße 🦆"}], "": "\u0000"},
        {"big": 2**80, "small": -0.001},
        {"z": 1, "a": 2},
    ):
        place = send(broker.client, {METADATA: as_header(json.dumps(metadata, ensure_ascii=False))}).headers["Location"]
        assert json.dumps(get(broker.client, place)["metadata"]) == json.dumps(metadata)
        result = send_batch(broker.client, {"metadata": metadata, "headers": {"X-A": "ü"}})["results"][0]
        shown = get(broker.client, result["location"])
        assert (shown["metadata"], shown["headers"]) == (metadata, {"X-A": "ü"})


def test_a_message_that_has_made_too_many_hops_is_dead_on_arrival(broker: Broker) -> None:
    register(broker.client, consumers=("one", "two"))
    assert send(broker.client, {MESSAGE_ID: "last", HOPS: "20"}).status_code == 201
    assert {job["status"] for job in get(broker.client, "/channel/channel/message/last")["jobs"]} == {"QUEUED"}
    assert count(broker, "job_event") == 0
    assert send(broker.client, {MESSAGE_ID: "over", HOPS: "21"}).status_code == 201
    found = get(broker.client, "/channel/channel/message/over")
    assert (found["hopCount"], [job["state"] for job in found["jobs"]]) == (21, ["dead", "dead"])
    dead = rows(broker, "SELECT * FROM job WHERE status = 1004 ORDER BY id")
    events = rows(broker, "SELECT * FROM job_event ORDER BY jobId")
    assert [row["id"] for row in dead] == [row["jobId"] for row in events]
    for job, event in zip(dead, events, strict=True):
        assert (job["deadReason"], job["earliestNextAttemptAt"]) == ("MAX_HOPS", None)
        assert job["deadAt"] == job["statusChangedAt"] >= job["createdAt"] == event["happenedAt"]
        assert (event["event"], event["detail"]) == ("died", "MAX_HOPS")
    assert value(broker, "SELECT SUM(dead_count) FROM dlq_summary") == 0


def test_the_limit_of_hops_is_a_setting_and_can_be_switched_off(broker: Broker, database_url: str) -> None:
    register(broker.client)
    for limit, hops, status in ((0, 1_000_000, "QUEUED"), (1, 1, "QUEUED"), (1, 2, "DEAD")):
        other = make_broker(database_url, upgrade=False, max_hops=limit)
        place = send(other.client, {HOPS: str(hops)}).headers["Location"]
        assert get(other.client, place)["jobs"][0]["status"] == status
        other.parts.database.dispose()
