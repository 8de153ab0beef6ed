"""A publication is checked field by field, every problem at once, under the caller's own names."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.domain.errors import Invalid
from broker.domain.messages import Publication, headers_problem, is_reserved_header

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NAMES = {"priority": "X-Broker-Message-Priority", "messageId": "X-Broker-Message-ID"}


def nested(depth: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for _ in range(depth - 1):
        found = {"a": [found]} if depth % 2 else {"a": found}
    return found


def faults(**fields: Any) -> list[str]:
    try:
        Publication(b"", **fields).check(NAMES)
    except Invalid as refused:
        return [problem.field for problem in refused.problems]
    return []


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"priority": 9, "hop_count": 1_000_000, "message_id": "a b", "content_type": "text/plain; charset=utf-8"},
        {"expires_at": NOON},
        {"scheduled_for": NOON, "expires_at": NOON + timedelta(microseconds=1)},
        {"headers": {"X-A": "", "x-b": "ü 🦆\t"}, "metadata": {}},
        {"headers": {f"X-{number}": "v" for number in range(50)}},
        {"metadata": {"a": "x" * 16_000}},
        {"metadata": nested(50)},
    ],
)
def test_what_can_be_delivered_is_accepted(fields: dict[str, Any]) -> None:
    assert faults(**fields) == []


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"priority": -1}, ["X-Broker-Message-Priority"]),
        ({"priority": 10}, ["X-Broker-Message-Priority"]),
        ({"message_id": "a/b"}, ["X-Broker-Message-ID"]),
        ({"message_id": ""}, ["X-Broker-Message-ID"]),
        ({"content_type": ""}, ["contentType"]),
        ({"content_type": "a/" + "b" * 254}, ["contentType"]),
        ({"content_type": "a/b\n"}, ["contentType"]),
        ({"content_type": "grün/gelb"}, ["contentType"]),
        ({"hop_count": -1}, ["hopCount"]),
        ({"hop_count": 1_000_001}, ["hopCount"]),
        ({"scheduled_for": NOON, "expires_at": NOON}, ["expiresAt"]),
        ({"headers": {f"X-{number}": "v" for number in range(51)}}, ["headers"]),
        ({"headers": {"X-A": "x" * 16_384}}, ["headers"]),
        ({"headers": {"X A": "1"}}, ["headers"]),
        ({"headers": {"": "1"}}, ["headers"]),
        ({"headers": {"X-A": "a\r\nb"}}, ["headers"]),
        ({"headers": {"X-A": "\ud800"}}, ["headers"]),
        ({"headers": {"Content-Length": "5"}}, ["headers"]),
        ({"metadata": {"a": float("nan")}}, ["metadata"]),
        ({"metadata": {"a": "\ud800"}}, ["metadata"]),
        ({"metadata": {"a": "x" * 16_384}}, ["metadata"]),
        ({"metadata": nested(51)}, ["metadata"]),
        ({"metadata": nested(5000)}, ["metadata"]),
        ({"priority": 11, "hop_count": -1, "message_id": ".."},
         ["X-Broker-Message-Priority", "hopCount", "X-Broker-Message-ID"]),
    ],
)  # fmt: skip
def test_every_fault_is_named_at_once(fields: dict[str, Any], named: list[str]) -> None:
    assert faults(**fields) == named


@pytest.mark.parametrize(
    "name",
    ["X-Broker-Job-ID", "x-broker-anything", "X_Broker_Channel_Token", "Webhook-Id", "webhook_signature", "Expect",
     "Content-Type", "content_encoding", "Transfer-Encoding", "Host", "Connection", "Keep-Alive", "User-Agent", "TE",
     "Upgrade", "Trailer", "X-Request-ID", "x_request_id", "Proxy-Authorization"],
)  # fmt: skip
def test_headers_of_the_broker_and_of_http_are_reserved_however_they_are_spelled(name: str) -> None:
    assert is_reserved_header(name)
    assert is_reserved_header(name.upper())
    assert headers_problem({name: "1"}) is not None


@pytest.mark.parametrize("name", ["X-Tenant", "Traceparent", "Broker", "X-Webhook-Id", "Authorization", "ETag"])
def test_other_headers_are_free(name: str) -> None:
    assert not is_reserved_header(name)
    assert headers_problem({name: "1"}) is None


@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=20), st.text(max_size=50), max_size=5))
def test_accepted_headers_can_be_sent(headers: dict[str, str]) -> None:
    if headers_problem(headers) is None:
        for name, value in headers.items():
            assert name.isascii()
            assert not {" ", ":", "\n", "\r"} & set(name)
            assert not {"\n", "\r", "\x00"} & set(value.encode().decode())
