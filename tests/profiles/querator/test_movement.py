"""Seed 000, phase 3: items that are dead move to the dead queue, or go when there is none."""

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from broker.domain.times import show_time
from tests.profiles.querator.queues import WORKER, create, dead_items, items, lease, lease_and_retry, produce
from tests.profiles.world import World, events


@pytest.fixture
def queues(world: World) -> World:
    """A source queue and its dead queue."""
    create(world, "dead")
    create(world, "source", dead_queue="dead")
    return world


def test_MaxAttempts(queues: World) -> None:
    item = produce(queues, "source", b"poison")
    assert [lease_and_retry(queues, "source") for _ in range(3)] == [["retrying"], ["retrying"], ["moved"]]
    (dead,) = dead_items(queues, "dead")
    assert dead["origin"]["jobId"] == item != dead["id"]
    assert (dead["status"], dead["retryAttemptCount"], dead["deadReason"]) == ("QUEUED", 0, None)
    assert items(queues, "source") == []
    assert queues.job(item) is None


def test_a_moved_item_keeps_its_payload_origin_and_history(queues: World) -> None:
    produce(queues, "source", b"poison", X_Broker_Message_ID="m-1")
    for _ in range(3):
        lease_and_retry(queues, "source", error={"type": "PARSE", "text": "no such field"})
    leased = queues.lease("dead", "dead-letters")
    assert leased["jobs"][0]["message"]["payload"] == "poison"
    origin = dead_items(queues, "dead")[0]["origin"]
    assert (origin["channelId"], origin["consumerId"], origin["messageId"]) == ("source", WORKER, "m-1")
    assert (origin["errorType"], origin["errorText"], origin["retryCount"]) == ("PARSE", "no such field", 2)
    assert events(dead_items(queues, "dead")[0]) == ["failed", "failed", "failed", "moved"]


def test_regular_items_have_no_source_id(queues: World) -> None:
    item = produce(queues, "source")
    assert queues.job(item)["origin"] is None


def test_dlq_items_are_in_fifo_order_with_new_ids(queues: World) -> None:
    first, second = produce(queues, "source", b"1"), produce(queues, "source", b"2")
    for dead in (second, first):
        leased = lease(queues, "source")
        others = [one for one in leased["jobs"] if one["id"] != dead]
        mine = [one for one in leased["jobs"] if one["id"] == dead]
        queues.answer("retry", "source", WORKER, {**leased, "jobs": mine}, dead=True)
        if others:
            queues.answer("retry", "source", WORKER, {**leased, "jobs": others})
    leased = queues.lease("dead", "dead-letters", limit=2)["jobs"]
    assert [one["message"]["payload"] for one in leased] == ["2", "1"]
    assert leased[0]["id"] < leased[1]["id"]


def test_ExpireDeadline(queues: World) -> None:
    queues.channel("source", expireAfter="30s")
    item = produce(queues, "source")
    lease_and_retry(queues, "source")
    queues.deliver(after=31)
    (dead,) = dead_items(queues, "dead")
    assert (dead["origin"]["jobId"], dead["origin"]["errorType"]) == (item, "EXPIRED")
    assert items(queues, "source") == []


def test_an_item_that_was_never_leased_expires_too(queues: World) -> None:
    soon = show_time(queues.broker.clock.now() + timedelta(seconds=30))
    item = produce(queues, "source", X_Broker_Expires_At=soon)
    queues.deliver()
    assert [one["id"] for one in items(queues, "source")] == [item]
    queues.deliver(after=31)
    assert [one["origin"]["jobId"] for one in dead_items(queues, "dead")] == [item]
    assert items(queues, "source") == []


def test_an_expired_item_is_not_leased_whoever_looks_first(queues: World) -> None:
    queues.channel("source", expireAfter="30s")
    produce(queues, "source")
    queues.pass_time(31)
    assert queues.lease("source", WORKER)["jobs"] == []
    assert [one["origin"]["errorType"] for one in dead_items(queues, "dead")] == ["EXPIRED"]


def test_a_dlq_item_does_not_expire_in_the_dlq(queues: World) -> None:
    queues.channel("source", expireAfter="30s")
    produce(queues, "source")
    queues.deliver(after=31)
    queues.deliver(after=86_400)
    (dead,) = dead_items(queues, "dead")
    assert (dead["status"], dead["expiresAt"]) == ("QUEUED", None)


def test_NoDLQConfigured(world: World, caplog: pytest.LogCaptureFixture) -> None:
    create(world, "alone")
    item = produce(world, "alone")
    with caplog.at_level(logging.WARNING):
        results = [lease_and_retry(world, "alone") for _ in range(3)]
    assert results == [["retrying"], ["retrying"], ["discarded"]]
    assert (items(world, "alone"), world.job(item)) == ([], None)
    assert [one.getMessage() for one in caplog.records if f"job {item} was discarded" in one.getMessage()]


def test_NoDLQConfigured_expired_unleased(world: World) -> None:
    create(world, "alone", expireAfter="30s")
    produce(world, "alone")
    world.deliver(after=31)
    assert items(world, "alone") == []


def test_dead_true_goes_to_the_dlq_at_once(queues: World) -> None:
    item = produce(queues, "source")
    assert lease_and_retry(queues, "source", dead=True, error="give up") == ["moved"]
    (dead,) = dead_items(queues, "dead")
    assert (dead["origin"]["jobId"], dead["origin"]["retryCount"]) == (item, 0)
    assert dead["origin"]["errorText"] == "give up"


def test_Idempotency_of_an_answer_that_is_given_twice(queues: World) -> None:
    produce(queues, "source")
    leased = lease(queues, "source")
    answers = [queues.answer("retry", "source", WORKER, leased, dead=True) for _ in range(2)]
    assert answers == [["moved"], ["late"]]
    assert len(dead_items(queues, "dead")) == 1


def test_items_are_never_duplicated_by_answers_at_the_same_time(queues: World) -> None:
    produce(queues, "source")
    leased = lease(queues, "source")
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda _: queues.answer("retry", "source", WORKER, leased, dead=True), range(4)))
    assert sorted(told) == [["late"]] * 3 + [["moved"]]
    assert len(dead_items(queues, "dead")) == 1


def test_no_automatic_retry_from_the_dlq(queues: World) -> None:
    produce(queues, "source")
    lease_and_retry(queues, "source", dead=True)
    queues.deliver(after=7 * 86_400)
    assert (len(dead_items(queues, "dead")), items(queues, "source")) == (1, [])


def test_what_dies_in_the_dlq_stays_there(queues: World) -> None:
    produce(queues, "source")
    lease_and_retry(queues, "source", dead=True)
    leased = queues.lease("dead", "dead-letters")
    queues.channel("dead", deadLetterMode="move")
    assert queues.answer("retry", "dead", "dead-letters", leased, dead=True) == ["dead"]
    assert [one["status"] for one in dead_items(queues, "dead")] == ["DEAD"]
