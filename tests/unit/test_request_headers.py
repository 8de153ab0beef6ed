"""The header lines of a delivery: all of the contract's, and none that a producer could put in their place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import __version__
from broker.delivery.requests import RequestBuilder
from broker.delivery.signing import signature
from broker.domain.states import ConsumerType
from broker.domain.work import ClaimedJob, Target

TOKEN_HEADER = "X-Broker-Consumer-Token"
JOB = ClaimedJob(
    id="job00000000000000000",
    consumer_key=7,
    retries_made=0,
    dead_reason=None,
    expired=False,
    message_key="key00000000000000000",
    message_id="message-1",
    payload=b"body",
    size=4,
    content_type="application/json; charset=utf-8",
    headers=None,
    overrides=None,
    priority=5,
    hop_count=2,
)
TARGET = Target(7, "channel", "consumer", ConsumerType.PUSH, "https://example.com/hook", False, token="token-1")


def lines(
    job: ClaimedJob = JOB, target: Target = TARGET, keys: tuple[bytes, ...] = (), name: str | None = TOKEN_HEADER
) -> list[bytes]:
    return RequestBuilder(target, keys, name).headers(job, b"body", 1_700_000_000.9, "request-1")


def fields(found: list[bytes]) -> dict[str, str]:
    """Every line once, by its name in lower case; libcurl sends `name;` as an empty header."""
    pairs = [line.decode().partition(":") if b":" in line else (line.decode()[:-1], ":", "") for line in found]
    names = [name.lower() for name, _, _ in pairs]
    assert len(names) == len(set(names))
    return {name.lower(): value.strip() for name, _, value in pairs}


def carrying(**headers: str) -> ClaimedJob:
    return JOB._replace(headers=json.dumps({name.replace("__", "-"): value for name, value in headers.items()}))


def test_a_plain_delivery_has_exactly_these() -> None:
    assert fields(lines()) == {
        "expect": "",
        "user-agent": f"broker/{__version__}",
        "content-type": "application/json; charset=utf-8",
        "x-request-id": "request-1",
        "x-broker-message-id": "message-1",
        "x-broker-job-id": "job00000000000000000",
        "x-broker-attempt": "1",
        "x-broker-message-priority": "5",
        "x-broker-channel-id": "channel",
        "x-broker-consumer-id": "consumer",
        "x-broker-consumer-token": "token-1",
        "x-broker-hop-count": "3",
    }


def test_expect_is_switched_off_and_not_sent() -> None:
    assert b"Expect:" in lines()


@pytest.mark.parametrize(("made", "attempt"), [(0, "1"), (1, "2"), (99, "100")])
def test_the_attempt_is_one_more_than_the_retries_made(made: int, attempt: str) -> None:
    assert fields(lines(JOB._replace(retries_made=made)))["x-broker-attempt"] == attempt


def test_the_token_travels_under_the_name_that_is_configured_or_not_at_all() -> None:
    named = fields(lines(name="Authorization"))
    assert named["authorization"] == "token-1"
    assert "x-broker-consumer-token" not in named
    assert "token-1" not in str(lines(name=None))
    tokenless = Target(7, "channel", "consumer", ConsumerType.PUSH, None, False)
    assert "x-broker-consumer-token" not in fields(lines(target=tokenless))


def test_the_signature_covers_the_job_id_the_whole_second_and_the_body() -> None:
    found = fields(lines(keys=(b"new", b"old")))
    assert found["webhook-id"] == JOB.id
    assert found["webhook-timestamp"] == "1700000000"
    assert found["webhook-signature"] == signature((b"new", b"old"), JOB.id, 1_700_000_000, b"body")
    assert found["webhook-signature"].count("v1,") == 2


def test_without_a_key_nothing_claims_to_be_signed() -> None:
    assert not any(name.startswith("webhook-") for name in fields(lines()))


def test_carried_headers_are_sent_and_named() -> None:
    found = fields(lines(carrying(X__Tenant="blue", traceparent="00-1", Authorization="Bearer x")))
    assert found["x-broker-metadata-headers"] == "X-Tenant, traceparent, Authorization"
    assert (found["x-tenant"], found["traceparent"], found["authorization"]) == ("blue", "00-1", "Bearer x")


OWN = """
X-Broker-Message-ID x-broker-job-id X-BROKER-ATTEMPT X_Broker_Attempt X-Broker-Consumer-Token x-broker-anything
X-Broker-Metadata-Headers webhook-id Webhook-Signature WEBHOOK_TIMESTAMP Content-Type content-length Content_Length
Content-Encoding Transfer-Encoding Host Connection Keep-Alive User-Agent user_agent Expect TE Upgrade Trailer
X-Request-ID x_request_id Proxy-Authorization proxy-connection
"""


@pytest.mark.parametrize("name", OWN.split())
def test_a_producer_cannot_overwrite(name: str) -> None:
    found = lines(JOB._replace(headers=json.dumps({name: "forged", "X-Own": "kept"})), keys=(b"key",))
    assert b"forged" not in b"\n".join(found)
    assert fields(found)["x-broker-metadata-headers"] == "X-Own"


@pytest.mark.parametrize("name", ["X-Api-Key", "x-api-key", "X_Api_Key", "X-API_KEY"])
@pytest.mark.parametrize("token", ["token-1", None])
def test_a_producer_cannot_speak_as_the_token(name: str, token: str | None) -> None:
    target = Target(7, "channel", "consumer", ConsumerType.PUSH, None, False, token=token)
    found = lines(JOB._replace(headers=json.dumps({name: "forged"})), target, name="X-Api-Key")
    assert b"forged" not in b"\n".join(found)
    assert fields(found).get("x-api-key") == token


def test_of_names_that_servers_take_for_the_same_only_the_first_is_sent() -> None:
    found = fields(lines(JOB._replace(headers='{"X-A": "1", "x-a": "2", "X_a": "3", "X-B": "4"}')))
    assert (found["x-a"], found["x-b"], found["x-broker-metadata-headers"]) == ("1", "4", "X-A, X-B")
    assert "x_a" not in found


@pytest.mark.parametrize("name", ["A\r\nX-Evil", "A: b\nX-Evil", "", "A B", "X-Ä", "A;"])
def test_what_is_no_header_name_is_not_sent(name: str) -> None:
    assert lines(JOB._replace(headers=json.dumps({name: "v"}))) == lines()


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\x00b", "\x7f"])
def test_a_carried_value_cannot_break_the_line(value: str) -> None:
    assert lines(JOB._replace(headers=json.dumps({"X-A": value}))) == lines()


@given(st.text(), st.text(), st.dictionaries(st.text(), st.text()))
def test_no_line_ever_has_a_break_in_it(message_id: str, content_type: str, headers: dict[str, str]) -> None:
    job = JOB._replace(message_id=message_id, content_type=content_type, headers=json.dumps(headers))
    found = lines(job, keys=(b"key",))
    assert not any(byte < 32 and byte != 9 for line in found for byte in line)


def test_other_alphabets_travel_as_utf_8() -> None:
    target = Target(7, "kanał", "消费者", ConsumerType.PUSH, None, False)
    found = lines(carrying(X__Name="Zoë 🚀")._replace(message_id="№ 1"), target)
    for line in ("X-Broker-Channel-ID: kanał", "X-Broker-Consumer-ID: 消费者", "X-Broker-Message-ID: № 1"):
        assert line.encode() in found
    assert "X-Name: Zoë 🚀".encode() in found


@pytest.mark.parametrize("value", ["", "  ", "\t"])
def test_an_empty_value_is_sent_as_an_empty_header(value: str) -> None:
    assert b"X-Empty;" in lines(carrying(X__Empty=value))


def test_two_jobs_of_one_consumer_do_not_share_lines() -> None:
    builder = RequestBuilder(TARGET, (), TOKEN_HEADER)
    first = builder.headers(JOB, b"", 1.0, "one")
    second = builder.headers(JOB._replace(id="another"), b"", 1.0, "two")
    assert fields(first)["x-broker-job-id"] == JOB.id
    assert (fields(second)["x-broker-job-id"], fields(second)["x-request-id"]) == ("another", "two")
