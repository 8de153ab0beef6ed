"""What waits, what is out, who is held and what was delivered, in /metrics."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker.delivery.engine import Engine
from broker.operations import queue_status
from broker.telemetry import EngineMetrics
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import put, send
from tests.support.engines import Hand
from tests.support.jobs import make_jobs
from tests.support.metrics import sample, samples
from tests.support.pull import puller
from tests.support.pushing import CONSUMER, Pushing
from tests.support.rows import value
from tests.support.states import take, wait_out_a_retry
from tests.support.target import Answer, Target
from tests.support.walk import register

HERE = {"channel": "channel", "consumer": "consumer"}
DEPTH, OLDEST, INFLIGHT = "broker_queue_depth", "broker_queue_oldest_due_seconds", "broker_inflight_jobs"
BREAKER, DELIVERIES = "broker_breaker_open", "broker_deliveries_total"


def scrape(broker: Broker) -> str:
    answer = broker.client.get("/metrics")
    assert answer.status_code == 200
    return answer.text


def test_what_waits_is_counted_due_or_not_and_what_is_leased_apart(broker: Broker) -> None:
    register(broker.client)
    register(broker.client, channel="idle")
    jobs = make_jobs(broker.client, 5)
    make_jobs(broker.client, 1, scheduledFor="2999-01-01T00:00:00Z", priority=3)
    wait_out_a_retry(broker, jobs[0])
    take(broker, *jobs[1:3])
    take(broker, jobs[3], shared=True)
    text = scrape(broker)
    assert [sample(text, name, **HERE) for name in (DEPTH, INFLIGHT)] == [3, 3]
    assert [sample(text, name, **{**HERE, "channel": "idle"}) for name in (DEPTH, INFLIGHT, OLDEST)] == [0, 0, 0]


def test_the_longest_due_job_tells_how_long_it_has_been_due(broker: Broker) -> None:
    client = puller(broker)
    assert sample(scrape(broker), OLDEST, **HERE) == 0
    make_jobs(broker.client, 1, priority=9)
    make_jobs(broker.client, 1, scheduledFor="2999-01-01T00:00:00Z")
    client.pass_time(600)
    make_jobs(broker.client, 1)
    assert 600 <= (sample(scrape(broker), OLDEST, **HERE) or 0) < 660
    client.lease(2)
    assert sample(scrape(broker), OLDEST, **HERE) == 0
    assert sample(scrape(broker), DEPTH, **HERE) == 1


def test_a_long_queue_is_counted_up_to_a_bound(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_status, "LEAST_EACH", 3)
    monkeypatch.setattr(queue_status, "COUNTED_EACH", 7)
    register(broker.client)
    register(broker.client, channel="short")
    make_jobs(broker.client, 6)
    make_jobs(broker.client, 2, channel="short")
    assert sample(scrape(broker), DEPTH, **HERE) == 6
    make_jobs(broker.client, 4, priority=5)
    assert sample(scrape(broker), DEPTH, **HERE) == 7
    assert sample(scrape(broker), DEPTH, channel="short", consumer="consumer") == 2


def test_a_consumer_is_shown_as_paused_while_it_or_its_channel_is(broker: Broker) -> None:
    register(broker.client)
    found = []
    for path in (CONSUMER, "/channel/channel"):
        for paused in (True, False):
            put(broker.client, path, **({"type": "pull"} if path == CONSUMER else {}), paused=paused)
            found.append(sample(scrape(broker), "broker_consumer_paused", **HERE))
    assert found == [1, 0, 1, 0]


def test_published_messages_are_counted_by_channel_once_they_are_committed(broker: Broker) -> None:
    register(broker.client)
    register(broker.client, channel="other")
    for _ in range(2):
        send(broker.client, {"X-Broker-Message-ID": "the-same"})
    make_jobs(broker.client, 4)
    make_jobs(broker.client, 1, channel="other")
    text = scrape(broker)
    assert sample(text, "broker_messages_published_total", channel="channel") == 5
    assert sample(text, "broker_messages_published_total", channel="other") == 1


def test_the_interval_of_checkpoints_is_shown(broker: Broker) -> None:
    assert sample(scrape(broker), "broker_dlq_checkpoint_interval_seconds") == 600


def test_without_an_engine_nothing_is_said_of_breakers(broker: Broker) -> None:
    put(broker.client, "/channel/channel")
    put(broker.client, CONSUMER, callbackUrl="http://127.0.0.1:1/")
    assert sample(scrape(broker), BREAKER, **HERE) is None


@pytest.fixture
def measured(broker: Broker, target: Target) -> Iterator[Pushing]:
    """Pushing with an engine whose metrics are in the broker's."""
    hand = Hand(broker)
    hand.engine = Engine(broker.parts, "test-engine", telemetry=EngineMetrics(broker.metrics.registry))
    yield Pushing(broker, hand, target)
    hand.close()


def deliver(pushing: Pushing, done: int) -> None:
    """Until so many jobs are written down as delivered or failed."""
    text = "SELECT COUNT(*) FROM job WHERE status = 1003 OR retryAttemptCount > 0"
    pushing.until(lambda: int(value(pushing.broker, text)) == done)


def test_deliveries_are_counted_by_consumer_and_outcome(measured: Pushing) -> None:
    measured.consumer(retryPolicy="fixed", retryBase=3600)
    measured.lonely("other")
    measured.target.rule = lambda request: Answer(500 if b"bad" in request.body else 200)
    measured.publish(3)
    measured.publish(2, payload="bad")
    measured.publish(1, "other")
    deliver(measured, 6)
    text = scrape(measured.broker)
    assert sample(text, DELIVERIES, **HERE, outcome="delivered") == 3
    assert sample(text, DELIVERIES, **HERE, outcome="failed") == 2
    assert sample(text, DELIVERIES, channel="other", consumer="other", outcome="delivered") == 1
    assert sample(text, "broker_delivery_seconds_count", outcome="delivered") == 4
    assert sample(text, "broker_engine_processes") == 1


def test_a_breaker_is_shown_as_open_until_an_answer_closes_it(measured: Pushing) -> None:
    measured.consumer(retryPolicy="fixed", retryBase=1, breakerThreshold=2, breakerOpen="30s")
    measured.lonely("other")
    assert sample(scrape(measured.broker), BREAKER, **HERE) == 0
    measured.target.rule = lambda _: Answer(500)
    measured.publish(2)
    deliver(measured, 2)
    assert sample(scrape(measured.broker), BREAKER, **HERE) == 1
    assert sample(scrape(measured.broker), BREAKER, channel="other", consumer="other") == 0
    measured.target.rule = lambda _: Answer(200)
    measured.broker.clock.advance(timedelta(seconds=31))
    measured.until(lambda: sample(scrape(measured.broker), BREAKER, **HERE) == 0)
    assert measured.came() >= 3


def test_nothing_is_told_of_a_consumer_that_is_deleted(measured: Pushing) -> None:
    measured.consumer(retryPolicy="fixed", retryBase=3600, breakerThreshold=1)
    measured.target.rule = lambda _: Answer(500)
    measured.publish(1)
    deliver(measured, 1)
    assert told_of(measured.broker, "consumer") >= {BREAKER, DELIVERIES, DEPTH, "dead_job_count"}
    assert measured.client.delete(f"{CONSUMER}?force=true", headers=ADMIN).status_code == 204
    assert told_of(measured.broker, "consumer") == set()


def told_of(broker: Broker, consumer: str) -> set[str]:
    """The names of the metrics that have a value for a consumer."""
    return {name for name, labels in samples(scrape(broker)) if ("consumer", consumer) in labels}
