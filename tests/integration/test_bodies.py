"""Bodies: bytes and content type come back exactly as sent; what is too large is refused before it is read."""

import base64
import socket
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.support.brokers import ADMIN, Broker, LiveBroker, StartBroker, make_broker
from tests.support.calls import MESSAGE_ID, as_header, code_of, faults, get, send, send_batch
from tests.support.walk import PUBLISHER, register

LIMIT = 1000
BODIES = [
    b"",
    b"\x00",
    b"x",
    b" ",
    bytes(range(256)),
    b"\xff\xfe\xfd",
    "Grüße 🦆".encode(),
    b"a\r\nb\n",
    b"\xef\xbb\xbf{}",
]
CONTENT_TYPES = [
    "text/plain",
    "text/plain; charset=utf-8",
    "TEXT/PLAIN;Charset=ISO-8859-1",
    'multipart/form-data; boundary="a;b"',
    "application/x-www-form-urlencoded",
    "application/json",
    "application/vnd.example+json; version=1, 2",
    "image/png",
    "application/x.y ;",
    "a/" + "b" * 253,
]


@pytest.mark.parametrize("batch", [False, True])
def test_any_bytes_come_back_exactly(broker: Broker, batch: bool) -> None:
    client = broker.client
    register(client)
    for number, body in enumerate(BODIES):
        if batch:
            item = {"messageId": f"m{number}", "payload": base64.b64encode(body).decode(), "payloadEncoding": "base64"}
            assert send_batch(client, item)["created"] == 1
        else:
            assert send(client, {MESSAGE_ID: f"m{number}"}, body).status_code == 201
        raw = client.get(f"/channel/channel/message/m{number}?raw=true", headers=ADMIN)
        assert (raw.status_code, raw.get_data(), raw.headers["Content-Type"]) == (200, body, "application/octet-stream")
        shown = get(client, f"/channel/channel/message/m{number}")
        assert shown["contentType"] == "application/octet-stream"
        assert as_bytes(shown["payload"], shown["payloadEncoding"]) == body


def as_bytes(payload: str, encoding: str) -> bytes:
    return payload.encode() if encoding == "utf-8" else base64.b64decode(payload, validate=True)


def test_text_is_shown_as_text_and_only_other_bytes_as_base64(broker: Broker) -> None:
    register(broker.client)
    for body, payload, encoding in (
        (b"", "", "utf-8"),
        ("Grüße\x00".encode(), "Grüße\x00", "utf-8"),
        (b"\xff", "/w==", "base64"),
        (b"\xed\xa0\x80", "7aCA", "base64"),
    ):
        shown = get(broker.client, send(broker.client, {}, body).headers["Location"])
        assert (shown["payload"], shown["payloadEncoding"]) == (payload, encoding)


def test_any_content_type_comes_back_exactly(broker: Broker) -> None:
    client = broker.client
    register(client)
    for content_type in CONTENT_TYPES:
        place = send(client, {"Content-Type": content_type}, b"a=b").headers["Location"]
        assert get(client, place)["contentType"] == content_type
        raw = client.get(f"{place}?raw=true", headers=ADMIN)
        assert (raw.headers["Content-Type"], raw.get_data()) == (content_type, b"a=b")


def test_a_content_type_that_no_header_can_hold_is_refused(broker: Broker) -> None:
    register(broker.client)
    for content_type in ("a/" + "b" * 254, as_header("text/grün"), " \t", "x", "not a type at all"):
        assert faults(send(broker.client, {"Content-Type": content_type})) == ["Content-Type"]
    items = send_batch(broker.client, *({"contentType": text} for text in ("", "a\nb", "grün", "x" * 256)))["results"]
    assert [one["errors"][0]["field"] for one in items] == ["contentType"] * 4


def test_a_stored_page_cannot_run_in_a_browser(broker: Broker) -> None:
    register(broker.client)
    place = send(broker.client, {"Content-Type": "text/html"}, b"<script>1</script>").headers["Location"]
    headers = broker.client.get(f"{place}?raw=true", headers=ADMIN).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Disposition"] == "attachment"
    assert headers["Content-Security-Policy"].startswith("sandbox")


def test_the_largest_payload_is_accepted_and_one_byte_more_is_not(database_url: str) -> None:
    small = make_broker(database_url, max_payload_bytes=LIMIT)
    client = small.client
    register(client)
    sent = send(client, {}, b"x" * LIMIT)
    assert len(get(client, sent.headers["Location"])["payload"]) == LIMIT
    assert code_of(send(client, {}, b"x" * (LIMIT + 1))) == (413, "too-large")
    for text, status in (("x" * LIMIT, 201), ("x" * (LIMIT + 1), 413), ("ü" * (LIMIT // 2 + 1), 413)):
        assert send_batch(client, {"payload": text})["results"][0]["status"] == status
    whole = client.post("/channel/channel/broadcast-batch", json={"messages": ["x" * 4 * LIMIT]}, headers=PUBLISHER)
    assert code_of(whole) == (413, "too-large")
    assert len(get(client, "/channel/channel/messages")["result"]) == 2
    small.parts.database.dispose()


def test_five_megabytes_go_through_by_default(broker: Broker) -> None:
    register(broker.client)
    body = bytes(range(250)) * 20_000
    place = send(broker.client, {}, body).headers["Location"]
    assert broker.client.get(f"{place}?raw=true", headers=ADMIN).get_data() == body
    assert code_of(send(broker.client, {}, body + b"x")) == (413, "too-large")


@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded", "text/plain"])
def test_a_registry_body_that_is_too_large_is_refused(broker: Broker, content_type: str) -> None:
    answer = broker.client.put(
        "/channel/c", data=b"name=" + b"x" * 100_000, headers={**ADMIN, "Content-Type": content_type}
    )
    assert code_of(answer) == (413, "too-large")


class Wire(NamedTuple):
    """A live broker with a small limit, spoken to byte by byte."""

    live: LiveBroker
    broker: Broker

    def post(
        self, name: str, head: str, body: bytes, ends: bool = False, path: str = "POST /channel/channel/broadcast"
    ) -> int:
        """The status of what is answered; with `ends` the client says that nothing more will come."""
        headers = "".join(f"{header}: {text}\r\n" for header, text in {**PUBLISHER, **ADMIN, MESSAGE_ID: name}.items())
        with socket.create_connection(("127.0.0.1", self.live.port), timeout=5) as connection:
            connection.sendall(f"{path} HTTP/1.1\r\nHost: broker\r\n{headers}{head}\r\n\r\n".encode() + body)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            return int(connection.recv(65536).split()[1])

    def stored(self, name: str) -> bytes | None:
        found = self.broker.client.get(f"/channel/channel/message/{name}?raw=true", headers=ADMIN)
        return found.get_data() if found.status_code == 200 else None


@pytest.fixture
def wire(start_broker: StartBroker, database_url: str) -> Iterator[Wire]:
    live = start_broker(database_url, BROKER_MAX_PAYLOAD_BYTES=str(LIMIT))
    broker = make_broker(database_url, upgrade=False)
    register(broker.client)
    yield Wire(live, broker)
    broker.parts.database.dispose()


def chunks(*parts: bytes) -> bytes:
    return b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in (*parts, b""))


def test_what_travels_over_a_real_connection_is_stored_whole_or_not_at_all(wire: Wire) -> None:
    chunked, full, over = "Transfer-Encoding: chunked", b"x" * LIMIT, b"x" * (LIMIT + 1)
    for name, head, body, status, stored in (
        ("empty", "Content-Length: 0", b"", 201, b""),
        ("none", "X-Nothing: 1", b"", 201, b""),
        ("full", f"Content-Length: {LIMIT}", full, 201, full),
        ("over", f"Content-Length: {LIMIT + 1}", over, 413, None),
        ("asked", f"Content-Length: {LIMIT + 1}\r\nExpect: 100-continue", b"", 413, None),
        ("huge", "Content-Length: 999999999999", b"", 413, None),
        ("chunks", chunked, chunks(b"hello", b"world"), 411, None),
        ("no-chunks", chunked, chunks(), 411, None),
        ("broken-off", chunked, chunks(full).removesuffix(b"0\r\n\r\n"), 411, None),
    ):
        assert (wire.post(name, head, body), wire.stored(name)) == (status, stored), name
    assert (wire.post("unsent", f"Content-Length: {LIMIT + 1}", b"", ends=True), wire.stored("unsent")) == (413, None)
    assert (wire.post("cut", f"Content-Length: {LIMIT}", b"hello", ends=True), wire.stored("cut")) == (400, None)


def test_a_form_or_batch_in_chunks_is_refused_too(wire: Wire) -> None:
    form = "Transfer-Encoding: chunked\r\nContent-Type: application/x-www-form-urlencoded"
    assert wire.post("form", form, chunks(b"name=chunky"), path="PUT /channel/channel") == 411
    assert get(wire.broker.client, "/channel/channel")["name"] == "channel"
    lines = "Transfer-Encoding: chunked\r\nContent-Type: application/x-ndjson"
    batch = "POST /channel/channel/broadcast-batch"
    assert wire.post("batch", lines, chunks(b'{"payload": "x"}\n'), path=batch) == 411
    assert get(wire.broker.client, "/channel/channel/messages")["result"] == []
