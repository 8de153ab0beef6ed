"""Seed 002, phases 1, 2 and 5: a failed item waits out its cooldown, or is dead."""

import pytest

from tests.profiles.oddjobs.items import QUEUE, WORKER, failed, queue, standing
from tests.profiles.world import World, attempts, delay_of, events
from tests.support.target import OK, Target

THREE = {"attempts": 3, "cooldown": "30s"}


def test_item_fails_with_attempts_3_timer_is_set_not_yet_dead(world: World, target: Target) -> None:
    item = failed(world, retry=THREE)
    assert (item["status"], item["state"], item["retryAttemptCount"]) == ("QUEUED", "retrying", 1)
    assert (delay_of(item), item["deadReason"], item["deadAt"]) == (30, None, None)
    world.deliver(after=29)
    assert attempts(target) == ["1"]


def test_timer_fires_item_goes_back_to_pending(world: World, target: Target) -> None:
    item = failed(world, retry=THREE)
    world.pass_time(30)
    assert world.job(item["id"])["state"] == "queued"
    world.deliver()
    assert attempts(target) == ["1", "2"]


def test_item_fails_3_times_becomes_dead_no_timer_set(world: World, target: Target) -> None:
    item = failed(world, retry=THREE)
    for _ in range(2):
        world.deliver(after=30)
    shown = world.job(item["id"])
    assert attempts(target) == ["1", "2", "3"]
    assert (shown["status"], shown["nextAttemptAt"]) == ("DEAD", None)


def test_auto_retry_flow_eventually_goes_dead(world: World, target: Target) -> None:
    item = failed(world, retry=THREE)
    for _ in range(5):
        world.deliver(after=30)
    shown = world.job(item["id"])
    assert (shown["status"], shown["deadReason"], shown["nextAttemptAt"]) == ("DEAD", "RETRIES_EXHAUSTED", None)
    assert events(shown) == ["failed"] * len(target.received) + ["died"]


@pytest.mark.parametrize("fields", [{}, {"retry": None}, {"retry": {}}, {"retry": {"attempts": 0, "cooldown": "1m"}}])
def test_item_fails_with_attempts_0_the_default_becomes_dead_immediately(
    world: World, target: Target, fields: dict[str, object]
) -> None:
    item = failed(world, **fields)
    assert standing(item) == ("dead", 0, None)
    assert (item["deadReason"], events(item)) == ("RETRIES_EXHAUSTED", ["failed", "died"])
    assert attempts(target) == ["1"]


def test_the_default_cooldown_is_0s(world: World, target: Target) -> None:
    item = failed(world, retry={"attempts": 2})
    assert (item["status"], item["appliedPolicy"]) == ("DEAD", "fixed")
    assert len(target.received) > 1


def test_polling_skips_dead_items(world: World, target: Target) -> None:
    item = failed(world)
    target.rule = lambda _: OK
    world.deliver(after=7 * 86_400)
    assert (attempts(target), world.job(item["id"])) == (["1"], item)


def test_failure_count_increments_and_is_kept_until_someone_says_otherwise(world: World) -> None:
    item = failed(world, retry={"attempts": 10, "cooldown": "30s"})
    counts = [item["retryAttemptCount"]]
    for _ in range(3):
        world.deliver(after=30)
        counts.append(world.job(item["id"])["retryAttemptCount"])
    assert counts == [1, 2, 3, 4]


def test_the_retry_config_is_read_at_the_time_of_failure_not_at_push_time(world: World, target: Target) -> None:
    queue(world, retry=THREE)
    world.fails_with(500)
    (item,) = world.publish(QUEUE)
    world.consumer(QUEUE, WORKER, retry={"attempts": 0})
    world.deliver()
    assert (world.job(item)["status"], attempts(target)) == ("DEAD", ["1"])


def test_editing_the_retry_config_takes_effect_for_subsequent_failures(world: World) -> None:
    item = failed(world, retry=THREE)
    world.consumer(QUEUE, WORKER, retry={"attempts": 5, "cooldown": "5m"})
    assert delay_of(world.job(item["id"])) == 30
    world.deliver(after=30)
    shown = world.job(item["id"])
    assert (delay_of(shown), shown["appliedMaxRetries"] > item["appliedMaxRetries"]) == (300, True)


def test_a_worker_that_leases_its_items_follows_the_same_rules(world: World) -> None:
    world.channel(QUEUE)
    world.pull(QUEUE, WORKER)
    world.pull(QUEUE, "patient", retry=THREE)
    world.publish(QUEUE)
    told = [world.answer("retry", QUEUE, one, world.lease(QUEUE, one)) for one in (WORKER, "patient")]
    assert told == [["dead"], ["retrying"]]
    assert delay_of(world.jobs(QUEUE, "patient")[0]) == 30
