"""Which rules a failure meets: those of the moment, the nearest first; and what is never sent at all."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.support.brokers import Broker, make_broker
from tests.support.calls import put
from tests.support.engines import Hand
from tests.support.pushing import Pushing
from tests.support.target import Answer, Target


@pytest.fixture
def failing(pushing: Pushing) -> Pushing:
    """Every delivery fails."""
    pushing.target.rule = lambda _: Answer(500)
    return pushing


def test_a_setting_that_changes_between_two_failures_takes_effect_at_once(failing: Pushing) -> None:
    failing.consumer(retryPolicy="fixed", retryBase=5, maxRetries=9)
    job_id = failing.fail_once()["id"]
    assert (failing.job(job_id)["appliedPolicy"], failing.job(job_id)["appliedMaxRetries"]) == ("fixed", 9)
    failing.consumer(retryPolicy="linear", retryBase=100, maxRetries=1)
    failing.later(5)
    found = failing.job(job_id)
    assert (found["state"], found["deadReason"]) == ("dead", "RETRIES_EXHAUSTED")
    assert (found["appliedPolicy"], found["appliedMaxRetries"], failing.came()) == ("linear", 1, 2)


def test_a_change_of_the_channel_takes_effect_at_once_as_well(failing: Pushing) -> None:
    failing.consumer()
    failing.publish()
    put(failing.client, "/channel/channel", maxRetries=0)
    failing.hand.deliver()
    assert failing.fail_once()["deadReason"] == "RETRIES_EXHAUSTED"


def test_message_beats_consumer_beats_channel_beats_broker(failing: Pushing) -> None:
    failing.consumer()
    assert failing.fail_once()["appliedMaxRetries"] == 3
    put(failing.client, "/channel/channel", maxRetries=7)
    assert failing.fail_once()["appliedMaxRetries"] == 7
    failing.consumer(maxRetries=8)
    assert failing.fail_once()["appliedMaxRetries"] == 8
    assert failing.fail_once(overrides={"maxRetries": 9})["appliedMaxRetries"] == 9


def test_a_scheduled_message_is_sent_at_its_time_and_not_before(pushing: Pushing) -> None:
    pushing.consumer()
    pushing.publish(scheduledFor=(pushing.broker.clock.now() + timedelta(hours=1)).isoformat())
    pushing.later(3_590)
    assert pushing.came() == 0
    pushing.later(11)
    assert pushing.came() == 1


def test_an_expired_job_is_never_sent(pushing: Pushing) -> None:
    pushing.consumer()
    soon = (pushing.broker.clock.now() + timedelta(seconds=60)).isoformat()
    pushing.consumer(paused=True)
    (job_id,) = pushing.publish(expiresAt=soon)
    pushing.later(61)
    pushing.consumer(paused=False)
    pushing.later(1)
    found = pushing.job(job_id)
    assert (found["state"], found["deadReason"], pushing.came()) == ("dead", "EXPIRED", 0)
    assert found["retryAttemptCount"] == 0


def test_a_retry_after_the_expiry_is_not_made(failing: Pushing) -> None:
    failing.consumer(retryPolicy="fixed", retryBase=100)
    found = failing.fail_once(expiresAt=(failing.broker.clock.now() + timedelta(seconds=60)).isoformat())
    failing.later(100)
    dead = failing.job(found["id"])
    assert (dead["state"], dead["deadReason"], failing.came()) == ("dead", "EXPIRED", 1)


def test_the_highest_priority_goes_first(pushing: Pushing) -> None:
    pushing.consumer(consumerConcurrency=1)
    for priority in (0, 5, 9, 1):
        pushing.publish(2, priority=priority)
    pushing.hand.deliver()
    sent = [int(one.headers["x-broker-message-priority"]) for one in pushing.target.received]
    assert sent == [9, 9, 5, 5, 1, 1, 0, 0]


def test_within_a_priority_what_is_due_first_goes_first(pushing: Pushing) -> None:
    pushing.consumer(consumerConcurrency=1)
    ids = pushing.publish(20)
    pushing.hand.deliver()
    assert [one.headers["x-broker-job-id"] for one in pushing.target.received] == ids


@pytest.mark.parametrize("path", ["/channel/channel", "/channel/channel/consumer/consumer"])
def test_a_pause_holds_jobs_and_a_resume_lets_them_go(pushing: Pushing, path: str) -> None:
    pushing.consumer()
    put(pushing.client, path, paused=True)
    (job_id,) = pushing.publish()
    pushing.later(3_600)
    assert (pushing.came(), pushing.job(job_id)["state"]) == (0, "queued")
    put(pushing.client, path, paused=False)
    pushing.later(1)
    assert (pushing.came(), pushing.job(job_id)["state"]) == (1, "delivered")


@pytest.fixture
def not_retrying(database_url: str, target: Target) -> Iterator[Pushing]:
    """A broker that leaves retries to others."""
    broker: Broker = make_broker(database_url, retry_processor_enabled=False)
    hand = Hand(broker)
    yield Pushing(broker, hand, target)
    hand.close()
    broker.parts.database.dispose()


def test_a_broker_without_its_retry_processor_sends_first_attempts_only(not_retrying: Pushing) -> None:
    not_retrying.consumer(retryPolicy="immediate")
    not_retrying.target.rule = lambda _: Answer(500)
    found = not_retrying.fail_once()
    not_retrying.later(600)
    after = not_retrying.job(found["id"])
    assert (not_retrying.came(), after["state"], after["retryAttemptCount"]) == (1, "retrying", 1)
