"""Seed 000: lease, complete, retry and extend, with what they do to the attempts."""

from datetime import datetime, timedelta

from broker.domain.times import show_time
from tests.profiles.querator.queues import WORKER, create, dead_items, items, lease, lease_and_retry, produce
from tests.profiles.world import World


def test_a_completed_item_is_done(world: World) -> None:
    create(world, "source")
    item = produce(world, "source")
    assert world.answer("complete", "source", WORKER, lease(world, "source")) == ["delivered"]
    assert (world.job(item)["status"], world.job(item)["outcome"]) == ("DELIVERED", "ok")
    assert world.lease("source", WORKER)["jobs"] == []


def test_a_leased_item_is_nobody_elses(world: World) -> None:
    create(world, "source")
    produce(world, "source")
    lease(world, "source")
    assert world.lease("source", WORKER, clientId="client-2")["jobs"] == []


def test_retry_counts_attempts_and_keeps_the_count(world: World) -> None:
    create(world, "source")
    item = produce(world, "source")
    for attempt in (1, 2):
        assert [one["attempt"] for one in lease(world, "source")["jobs"]] == [attempt]
        world.deliver(after=61)
        assert world.job(item)["retryAttemptCount"] == attempt


def test_retry_at_a_time_of_the_clients_choice(world: World) -> None:
    create(world, "source")
    item = produce(world, "source")
    later = world.broker.clock.now() + timedelta(minutes=10)
    assert lease_and_retry(world, "source", retryAt=show_time(later)) == ["retrying"]
    shown = world.job(item)
    assert shown["state"] == "retrying"
    assert timedelta(0) <= datetime.fromisoformat(shown["nextAttemptAt"]) - later < timedelta(seconds=30)
    assert world.lease("source", WORKER)["jobs"] == []
    world.pass_time(601)
    assert len(lease(world, "source")["jobs"]) == 1


def test_lease_deadline_missed_max_attempts_times_goes_to_the_dlq(world: World) -> None:
    create(world, "dead")
    create(world, "source", dead_queue="dead")
    produce(world, "source")
    for _ in range(3):
        lease(world, "source")
        world.deliver(after=61)
    (dead,) = dead_items(world, "dead")
    assert (dead["origin"]["errorType"], dead["origin"]["retryCount"]) == ("LEASE_EXPIRED", 2)
    assert items(world, "source") == []


def test_a_late_answer_with_an_old_lease_is_refused(world: World) -> None:
    create(world, "source")
    item = produce(world, "source")
    old = lease(world, "source")
    world.deliver(after=61)
    new = lease(world, "source")
    assert world.answer("complete", "source", WORKER, old) == ["late"]
    assert world.job(item)["status"] == "INFLIGHT"
    assert world.answer("complete", "source", WORKER, new) == ["delivered"]


def test_an_extended_lease_is_not_lost(world: World) -> None:
    create(world, "source")
    item = produce(world, "source")
    leased = lease(world, "source")
    for _ in range(5):
        world.deliver(after=40)
        assert world.answer("extend", "source", WORKER, leased) == ["extended"]
    assert world.job(item)["retryAttemptCount"] == 0
    assert world.answer("complete", "source", WORKER, leased) == ["delivered"]


def test_a_batch_is_answered_item_by_item(world: World) -> None:
    create(world, "dead")
    create(world, "source", dead_queue="dead")
    first, second, third = (produce(world, "source", body) for body in (b"1", b"2", b"3"))
    leased = lease(world, "source")
    answers = [{"id": first}, {"id": second, "dead": True}]
    told = world.done(world.call("source", WORKER, "retry", {"jobs": answers, "leaseToken": leased["leaseToken"]}))
    assert [one["result"] for one in told["results"]] == ["retrying", "moved"]
    rest = {**leased, "jobs": [{"id": third}]}
    assert world.answer("complete", "source", WORKER, rest) == ["delivered"]
    assert [one["id"] for one in items(world, "source") if one["status"] == "QUEUED"] == [first]
