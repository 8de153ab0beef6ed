"""Ids are any text: each opens exactly one thing, comes back as it was given, and never means anything to SQL."""

import http.client
from urllib.parse import unquote

import pytest
from flask.testing import FlaskClient

from tests.support.brokers import ADMIN, Broker, StartBroker
from tests.support.calls import MESSAGE_ID, as_header, code_of, faults, get, parsed, path_of, put, send, send_batch
from tests.support.walk import PUBLISHER, register

IDS = [
    "%", "_", "%%", "__", "*", "' OR 1=1", "'; DROP TABLE channel; --", '"quoted"', "a%25b", "%2F", "%00", "a b", "a+b",
    "a;b=c&d", "a,b", "...", "..a", "~", "{id}", "<b>", "A", "a", "Ä", "ä", "\u00e9", "e\u0301", "ß", "ss", "日本語",
    "🦆", "🦆" * 255, "x" * 255, "x" * 254, "a\u200db", "\ufeffa", "\U0010fffd", "null", "0", "00", "1e3",
]  # fmt: skip
BAD_SEGMENTS = [
    ".", "..", "%2E%2E", "%20", "%20a", "a%20", "a%C2%A0", "a%E2%80%A8", "a%00", "%00", "a%0Ab", "a%0D%0Ab", "a%09b",
    "a%7Fb", "a%C2%85b", "a%5Cb", "a%3Fb", "a%23b", "%ED%A0%80", "%EF%BF%BD", "%FF", "a%C3", "x" * 256, "x" * 300,
    "%F0%9F%A6%86" * 256,
]  # fmt: skip
UNROUTED = ["%2F", "a%2Fb", "..%2Fchannel", "%2E%2E%2F..", ""]
BAD_TEXTS = [
    "",
    ".",
    "..",
    "a/b",
    "../a",
    "a\\b",
    "a?",
    "#",
    " a",
    "a ",
    "\x00",
    "a\n",
    "\t",
    "\ud800",
    "\ufffd",
    "x" * 256,
]
PLACES = [
    ("PUT", "/producer/{}", "producerId"),
    ("GET", "/producer/{}", "producerId"),
    ("DELETE", "/producer/{}", "producerId"),
    ("PUT", "/channel/{}", "channelId"),
    ("GET", "/channel/{}", "channelId"),
    ("DELETE", "/channel/{}", "channelId"),
    ("GET", "/channel/{}/consumers", "channelId"),
    ("POST", "/channel/{}/broadcast", "channelId"),
    ("POST", "/channel/{}/broadcast-batch", "channelId"),
    ("GET", "/channel/{}/messages", "channelId"),
    ("GET", "/channel/{}/messages-status", "channelId"),
    ("GET", "/channel/{}/scheduled-messages", "channelId"),
    ("PUT", "/channel/{}/consumer/consumer", "channelId"),
    ("PUT", "/channel/channel/consumer/{}", "consumerId"),
    ("GET", "/channel/channel/consumer/{}", "consumerId"),
    ("DELETE", "/channel/channel/consumer/{}", "consumerId"),
    ("GET", "/channel/channel/message/{}", "messageId"),
    ("GET", "/channel/channel/scheduled-message/{}", "messageId"),
    ("DELETE", "/channel/channel/scheduled-message/{}", "messageId"),
]


def listed(client: FlaskClient, path: str) -> set[str]:
    """The last segment of every address on the only page, decoded."""
    page = get(client, f"{path}?limit=100")
    assert page["pages"] == {}
    return {unquote(address.rsplit("/", 1)[1]) for address in page["result"]}


def test_channels_with_any_ids_are_kept_apart(broker: Broker) -> None:
    client = broker.client
    put(client, "/producer/producer", token="producer-token")
    for number, name in enumerate(IDS):
        made = put(client, path_of("channel", name), token=f"token-{number}")
        assert (made["id"], made["channelUrl"]) == (name, path_of("channel", name))
    assert listed(client, "/channels") == set(IDS)
    for number, name in enumerate(IDS):
        for token, status in ((f"token-{number}", 200), (f"token-{number - 1}", 403)):
            shown = client.get(path_of("channel", name), headers={"X-Broker-Channel-Token": token})
            assert shown.status_code == status
        sent = send(client, {"X-Broker-Channel-Token": f"token-{number}", MESSAGE_ID: "m"}, channel=name)
        assert sent.status_code == 201
        assert get(client, sent.headers["Location"])["id"] == "m"
        assert listed(client, path_of("channel", name, "messages")) == {"m"}


def test_producers_with_any_ids_are_kept_apart(broker: Broker) -> None:
    client = broker.client
    register(client)
    client.delete("/producer/producer", headers=ADMIN)
    for number, name in enumerate(IDS):
        assert put(client, path_of("producer", name), token=f"token-{number}")["id"] == name
    assert listed(client, "/producers") == set(IDS)
    for number, name in enumerate(IDS):
        who = {"X-Broker-Producer-ID": as_header(name), "X-Broker-Producer-Token": f"token-{number}"}
        sent = send(client, who)
        assert sent.status_code == 201
        assert get(client, sent.headers["Location"])["producedBy"] == name
        assert send(client, {**who, "X-Broker-Producer-Token": f"token-{number - 1}"}).status_code == 403


def test_consumers_with_any_ids_are_kept_apart(broker: Broker) -> None:
    client = broker.client
    register(client, consumers=())
    for name in IDS:
        made = put(client, path_of("channel", "channel", "consumer", name), type="pull", name=f"The {name[:9]}")
        assert made["consumerUrl"] == path_of("channel", "channel", "consumer", name)
        assert get(client, made["consumerUrl"])["id"] == name
    assert listed(client, "/channel/channel/consumers") == set(IDS)
    jobs = get(client, send(client).headers["Location"])["jobs"]
    assert sorted(job["consumerId"] for job in jobs) == sorted(IDS)
    assert client.delete("/channel/channel/consumer/%25?force=true", headers=ADMIN).status_code == 204
    assert listed(client, "/channel/channel/consumers") == {name for name in IDS if name != "%"}


@pytest.mark.parametrize("batch", [False, True])
def test_messages_with_any_ids_are_kept_apart(broker: Broker, batch: bool) -> None:
    client = broker.client
    register(client)
    if batch:
        results = send_batch(client, *({"messageId": name, "payload": f"for {name}"} for name in IDS))["results"]
        places = [result["location"] for result in results]
    else:
        answers = [send(client, {MESSAGE_ID: as_header(name)}, f"for {name}".encode()) for name in IDS]
        places = [answer.headers["Location"] for answer in answers]
    assert places == [path_of("channel", "channel", "message", name) for name in IDS]
    for name, place in zip(IDS, places, strict=True):
        found = get(client, place)
        assert (found["id"], found["payload"], len(found["jobs"])) == (name, f"for {name}", 1)
        again = send(client, {MESSAGE_ID: as_header(name)})
        assert (again.status_code, again.headers["Location"], parsed(again)["location"]) == (409, place, place)
    assert listed(client, "/channel/channel/messages") == set(IDS)


def test_a_bad_id_in_a_path_is_refused_by_name_whatever_the_call(broker: Broker) -> None:
    register(broker.client)
    headers = {**ADMIN, **PUBLISHER}
    for method, place, field in PLACES:
        for segment in BAD_SEGMENTS:
            answer = broker.client.open(place.format(segment), method=method, headers=headers)
            assert faults(answer) == [field], (method, place, segment)
        for segment in UNROUTED:
            answer = broker.client.open(place.format(segment), method=method, headers=headers)
            assert code_of(answer) in ((404, "not-found"), (405, "method-not-allowed")), (method, place, segment)
    assert listed(broker.client, "/channels") == {"channel"}


def test_a_bad_message_id_is_refused_by_name(broker: Broker) -> None:
    client = broker.client
    register(client)
    answer = send_batch(client, *({"messageId": text} for text in BAD_TEXTS))
    assert (answer["created"], answer["rejected"]) == (0, len(BAD_TEXTS))
    assert [[error["field"] for error in one["errors"]] for one in answer["results"]] == [["messageId"]] * len(
        BAD_TEXTS
    )
    for text in ("..", "a/b", "x" * 256, "\xff\xfe", "a\x7f"):
        assert faults(send(client, {MESSAGE_ID: text})) == [MESSAGE_ID], text
    assert get(client, "/channel/channel/messages")["result"] == []


def test_wildcards_and_quotes_find_nothing_but_themselves(broker: Broker) -> None:
    client = broker.client
    register(client)
    send(client, {MESSAGE_ID: "message"})
    for wild in ("%", "_______", "chann%", "' OR 1=1 --", "' OR '1'='1", "CHANNEL", "Message", "Consumer"):
        for place in (("channel", wild), ("producer", wild), ("channel", "channel", "consumer", wild)):
            assert code_of(client.get(path_of(*place), headers=ADMIN)) == (404, "not-found")
            assert code_of(client.delete(path_of(*place), headers=ADMIN)) == (404, "not-found")
        found = client.get(path_of("channel", "channel", "message", wild), headers=ADMIN)
        assert code_of(found) == (404, "not-found")
        assert send(client, channel=wild).status_code == 404
        assert send(client, {"X-Broker-Producer-ID": wild}).status_code == 401
    assert listed(client, "/channels") == {"channel"}


def test_ids_travel_through_a_real_server_unchanged(start_broker: StartBroker, sqlite_url: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", start_broker(sqlite_url).port)
    for name in IDS:
        connection.request("PUT", path_of("channel", name), headers=ADMIN)
        answer = connection.getresponse()
        assert (answer.status, answer.read().startswith(b'{"id": ')) == (200, True), name
    connection.request("GET", "/channels?limit=100", headers=ADMIN)
    body = connection.getresponse().read().decode()
    connection.close()
    assert all(f'"{path_of("channel", name)}"' in body for name in IDS)
    assert body.count('"/channel/') == len(IDS)
