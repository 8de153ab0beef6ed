"""What the answers of a target do to jobs: delivered, retried by the rules of the moment, or dead."""

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from tests.support.brokers import make_broker
from tests.support.engines import Hand
from tests.support.pushing import Pushing
from tests.support.target import Answer, Target


def waits(found: Any) -> float:
    """How long a job waits from its last change to its next attempt."""
    due, changed = (datetime.fromisoformat(found[name]) for name in ("nextAttemptAt", "statusChangedAt"))
    return (due - changed).total_seconds()


def test_an_answered_job_is_delivered_with_its_payload_and_its_attempt(pushing: Pushing) -> None:
    pushing.consumer()
    found = pushing.fail_once(payload="hello", messageId="m1", priority=3, contentType="a/b")
    assert (found["state"], found["outcome"], found["retryAttemptCount"]) == ("delivered", "ok", 0)
    (request,) = pushing.target.received
    sent = {name: request.headers[f"x-broker-{name}"] for name in ("message-id", "attempt", "job-id", "channel-id")}
    assert sent == {"message-id": "m1", "attempt": "1", "job-id": found["id"], "channel-id": "channel"}
    assert (request.body, request.headers["content-type"]) == (b"hello", "a/b")


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        ({}, Answer(headers={"X-Broker-Result": "failed"}, body=b"out of stock")),
        ({"readsSuccess": True}, Answer(body=b'{"success": false}')),
        ({"readsSuccess": True}, Answer(body=b'{"detail": "%s", "success": false}' % (b"x" * 60_000))),
    ],
    ids=["header", "body", "long body"],
)
def test_an_answered_failure_is_delivered_and_not_retried(
    pushing: Pushing, settings: dict[str, object], answer: Answer
) -> None:
    pushing.consumer(**settings)
    pushing.target.rule = lambda _: answer
    found = pushing.fail_once()
    pushing.later(86_400)
    assert (found["state"], found["outcome"], pushing.came()) == ("delivered", "failed", 1)
    assert [one["event"] for one in found["history"]] == ["answered-failed"]
    assert found["history"][0]["detail"] == answer.body.decode()[:1_000]


def test_a_body_without_success_counts_only_where_the_consumer_opts_in(pushing: Pushing) -> None:
    pushing.consumer()
    pushing.target.rule = lambda _: Answer(body=b'{"success": false}')
    assert pushing.fail_once()["outcome"] == "ok"


@pytest.mark.parametrize(
    ("given", "kind"),
    [(Answer(drop=True), "BROKEN"), (Answer(hang=True), "TIMEOUT"), (Answer(raw=b"nonsense\r\n\r\n"), "BROKEN")],
    ids=["dropped", "hanging", "nonsense"],
)
def test_a_target_that_does_not_answer_is_a_network_failure(pushing: Pushing, given: Answer, kind: str) -> None:
    pushing.consumer(deliveryTimeout=0.3, connectTimeout=0.3)
    pushing.target.rule = lambda _: given
    found = pushing.fail_once()
    assert (found["error"]["type"], found["error"]["category"], found["state"]) == (kind, "NETWORK", "retrying")
    assert (waits(found), found["retryAttemptCount"], found["appliedPolicy"]) == (60, 1, "exponential")


def test_a_refused_connection_and_an_unknown_name_are_network_failures(pushing: Pushing) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        pushing.consumer(callbackUrl=f"http://127.0.0.1:{closed.getsockname()[1]}/")
        refused = pushing.fail_once()
    pushing.consumer(callbackUrl="http://no-such-host.invalid/")
    unknown = pushing.fail_once()
    assert (refused["error"]["type"], refused["error"]["category"], waits(refused)) == ("CONNECT", "NETWORK", 60)
    assert (unknown["error"]["type"], unknown["error"]["category"], waits(unknown)) == ("DNS", "NETWORK", 60)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:7f00:1]"])
def test_a_target_that_is_not_public_is_not_called_by_a_broker_that_allows_no_other(
    database_url: str, target: Target, host: str
) -> None:
    broker = make_broker(database_url, delivery_allowed_networks="")
    hand = Hand(broker)
    pushing = Pushing(broker, hand, target)
    pushing.consumer(callbackUrl=target.url(host=host))
    found = pushing.fail_once()
    hand.close()
    broker.parts.database.dispose()
    assert (found["state"], found["deadReason"], found["retryAttemptCount"]) == ("dead", "NON_RETRYABLE", 0)
    assert (found["error"]["type"], found["error"]["category"]) == ("ADDRESS_REFUSED", "PERMANENT")
    assert "delivery_allowed_networks" in found["error"]["text"]
    assert target.connections == 0


@pytest.mark.parametrize(
    ("status", "category", "state", "policy"),
    [
        (500, "TRANSIENT", "retrying", "exponential"),
        (404, "TRANSIENT", "retrying", "exponential"),
        (507, "RESOURCE", "retrying", "linear"),
        (403, "PERMISSION", "dead", "never"),
        (422, "VALIDATION", "dead", "never"),
        (302, "PERMANENT", "dead", "never"),
    ],
)
def test_a_status_decides_by_its_category(
    pushing: Pushing, status: int, category: str, state: str, policy: str
) -> None:
    pushing.consumer()
    pushing.target.rule = lambda _: Answer(status, body=b"because")
    found = pushing.fail_once()
    assert (found["error"]["type"], found["error"]["text"]) == (f"HTTP_{status}", f"HTTP {status} because")
    assert (found["error"]["category"], found["state"], found["appliedPolicy"]) == (category, state, policy)
    assert found["deadReason"] == ("NON_RETRYABLE" if state == "dead" else None)


def test_a_job_is_tried_as_often_as_the_rules_say_and_then_dies(pushing: Pushing) -> None:
    pushing.consumer(maxRetries=2, retryPolicy="schedule", retrySchedule=[5, 30])
    pushing.target.rule = lambda _: Answer(500)
    job_id = pushing.fail_once()["id"]
    for delay in (5, 30):
        before = pushing.came()
        pushing.later(delay - 1)
        assert pushing.came() == before
        pushing.later(1)
        assert pushing.came() == before + 1
    found = pushing.job(job_id)
    assert (found["state"], found["deadReason"], found["retryAttemptCount"]) == ("dead", "RETRIES_EXHAUSTED", 2)
    assert [one.headers["x-broker-attempt"] for one in pushing.target.received] == ["1", "2", "3"]
    assert [one["event"] for one in found["history"]] == ["failed", "failed", "failed", "died"]


def test_retry_after_raises_the_delay_but_never_lowers_it(pushing: Pushing) -> None:
    pushing.consumer(retryPolicy="fixed", retryBase=30)
    pushing.target.rule = lambda _: Answer(503, headers={"Retry-After": "120"})
    assert waits(pushing.fail_once()) == 120
    pushing.target.rule = lambda _: Answer(503, headers={"Retry-After": "1"})
    assert waits(pushing.fail_once()) == 30
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=300), usegmt=True)
    pushing.target.rule = lambda _: Answer(503, headers={"Retry-After": date})
    assert 290 < waits(pushing.fail_once()) <= 300


def test_gone_pauses_the_consumer_and_says_so(pushing: Pushing) -> None:
    pushing.consumer()
    pushing.target.rule = lambda _: Answer(410)
    found = pushing.fail_once()
    assert (found["state"], found["deadReason"], found["error"]["category"]) == ("dead", "NON_RETRYABLE", "PERMANENT")
    assert pushing.shown()["paused"] is True
    (waiting,) = pushing.publish()
    pushing.later(3_600)
    assert (pushing.job(waiting)["state"], pushing.came()) == ("queued", 1)
