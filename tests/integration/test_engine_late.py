"""Large payloads arrive whole; and an answer that comes when the lease is lost changes nothing, and is counted."""

import hashlib
from collections.abc import Iterator
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from broker.delivery.engine import Engine
from broker.domain.work import SMALL_PAYLOAD
from broker.operations.reaping import reap_leases
from broker.telemetry import EngineMetrics
from tests.support.brokers import Broker
from tests.support.calls import send
from tests.support.engines import Hand
from tests.support.pushing import Pushing
from tests.support.rows import execute, rows, value
from tests.support.states import row, take
from tests.support.target import Answer, Target

LATE, GIVEN_BACK = "broker_late_answers_total", "broker_leases_lost_jobs_total"


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def measured(broker: Broker, target: Target, registry: CollectorRegistry) -> Iterator[Pushing]:
    """Pushing with an engine that is measured."""
    hand = Hand(broker)
    hand.engine = Engine(broker.parts, "test-engine", telemetry=EngineMetrics(registry))
    yield Pushing(broker, hand, target)
    hand.close()


@pytest.mark.parametrize("size", [SMALL_PAYLOAD, SMALL_PAYLOAD + 1, 1_048_576])
def test_a_large_payload_is_delivered_whole(pushing: Pushing, size: int) -> None:
    pushing.consumer()
    body = bytes(number * number % 251 for number in range(1000)) * (size // 1000 + 1)
    assert send(pushing.client, body=body[:size]).status_code == 201
    pushing.hand.deliver()
    (request,) = pushing.target.received
    assert (len(request.body), request.headers["content-length"]) == (size, str(size))
    assert hashlib.sha256(request.body).digest() == hashlib.sha256(body[:size]).digest()


def test_many_large_payloads_at_once_all_arrive_whole(pushing: Pushing) -> None:
    pushing.consumer()
    for number in range(12):
        send(pushing.client, body=bytes([number]) * 1_000_000)
    pushing.hand.deliver()
    assert sorted(request.body[0] for request in pushing.target.received) == list(range(12))
    assert {len(request.body) for request in pushing.target.received} == {1_000_000}


@pytest.mark.parametrize("status", [200, 500, 400], ids=["success", "retry", "death"])
def test_a_late_completion_changes_nothing_and_is_counted(
    measured: Pushing, registry: CollectorRegistry, status: int
) -> None:
    broker, token = measured.broker, ""
    measured.consumer()
    measured.target.rule = lambda _: Answer(status, delay=0.3)
    (job_id,) = measured.publish()
    measured.until(lambda: measured.came() == 1)
    execute(broker, "UPDATE lease SET expiresAt = '2000-01-01 00:00:00.000000'")
    assert reap_leases(broker.parts).given_back == 1
    token = take(broker, job_id)
    before = dict(row(broker, job_id))
    measured.until(lambda: registry.get_sample_value(LATE) == 1)
    assert (dict(row(broker, job_id)), before["leaseToken"]) == (before, token)
    assert [one["event"] for one in rows(broker, "SELECT event FROM job_event")] == ["lease-lost"]
    assert measured.came() == 1


def test_a_job_that_is_claimed_again_while_it_is_in_the_air_ends_once(
    measured: Pushing, registry: CollectorRegistry
) -> None:
    """The database was away longer than the lease: the same process gets the job anew, before its first answer."""
    measured.consumer()
    measured.target.rule = lambda _: Answer(delay=0.5)
    (job_id,) = measured.publish()
    measured.until(lambda: measured.came() == 1)
    measured.broker.clock.advance(timedelta(seconds=61))
    measured.until(lambda: measured.came() == 2)
    measured.hand.deliver()
    assert (measured.job(job_id)["state"], measured.came()) == ("delivered", 2)
    assert registry.get_sample_value(LATE) == 1
    assert value(measured.broker, "SELECT COUNT(*) FROM lease") == 0


def test_the_keeper_counts_what_it_gives_back(measured: Pushing, registry: CollectorRegistry) -> None:
    measured.consumer()
    (job_id,) = measured.publish()
    take(measured.broker, job_id, seconds=30)
    measured.later(31)
    assert (registry.get_sample_value(GIVEN_BACK), measured.came()) == (1, 1)
    assert measured.job(job_id)["retryAttemptCount"] == 0


def test_an_answer_in_time_is_not_counted_as_late(measured: Pushing, registry: CollectorRegistry) -> None:
    measured.consumer()
    measured.fail_once()
    assert registry.get_sample_value(LATE) == 0
