"""Seed 001: integration strategies, a full queue, the processor, the breaker, and what survives a restart."""

import pytest

from broker.config import ConfigError, load
from tests.profiles.conftest import Start
from tests.profiles.mahavishnu.workflows import CHANNEL, WORKFLOW, break_with, failed, register
from tests.profiles.world import World, attempts, delay_of
from tests.support.calls import get
from tests.support.jobs import act
from tests.support.target import OK, Target

RETRIED, NOT_RETRIED = ("TRANSIENT", "NETWORK", "RESOURCE"), ("PERMISSION", "VALIDATION", "PERMANENT")


def exhausted(world: World, category: str = "TRANSIENT") -> str:
    """A task that has just used up all it had; gives its id."""
    break_with(world, category)
    (task,) = world.publish(CHANNEL)
    world.deliver()
    return task


@pytest.mark.parametrize("category", RETRIED + NOT_RETRIED)
def test_AUTOMATIC_enqueues_all_failed_workflows(world: World, category: str) -> None:
    register(world, maxRetries=0)
    assert world.job(exhausted(world, category))["status"] == "DEAD"


@pytest.mark.parametrize("category", RETRIED + NOT_RETRIED)
def test_SELECTIVE_enqueues_based_on_error_classification(world: World, category: str) -> None:
    register(world, maxRetries=0, dlqStrategy="selective")
    shown = world.job(exhausted(world, category))
    assert (shown and shown["status"]) == ("DEAD" if category in RETRIED else None)


def test_MANUAL_only_enqueues_when_explicitly_requested(world: World) -> None:
    world.channel(CHANNEL)
    world.pull(CHANNEL, WORKFLOW, maxRetries=0, dlqStrategy="manual")
    ids = [world.publish(CHANNEL)[0] for _ in range(3)]
    requests: list[dict[str, object]] = [{}, {"dead": True}]
    told = [world.answer("retry", CHANNEL, WORKFLOW, world.lease(CHANNEL, WORKFLOW), **one) for one in requests]
    assert told == [["discarded"], ["dead"]]
    act(world.client, "fail", ids[2])
    assert [one and one["deadReason"] for one in map(world.job, ids)] == [None, "REJECTED", "FORCED"]


def test_DISABLED_never_uses_the_dlq(world: World) -> None:
    register(world, maxRetries=0, dlqStrategy="disabled")
    assert world.job(exhausted(world)) is None


def test_dlq_enabled_false_keeps_nothing(start: Start) -> None:
    world = start(dlq_enabled=False)
    register(world, maxRetries=0)
    assert world.job(exhausted(world)) is None


def test_queue_full_handling(world: World) -> None:
    register(world, maxRetries=0, dlqMaxSize=2)
    ids = [exhausted(world) for _ in range(3)]
    assert [world.job(one)["status"] for one in ids] == ["DEAD", "DEAD", "QUEUED"]
    parked = world.job(ids[2])
    assert (parked["deadReason"], parked["error"]["type"]) == ("RETRIES_EXHAUSTED", "HTTP_503")
    assert delay_of(parked) == 60


def test_a_task_that_found_no_room_is_not_tried_again_and_enters_when_there_is_room(
    world: World, target: Target
) -> None:
    register(world, maxRetries=0, dlqMaxSize=1)
    first, second = exhausted(world), exhausted(world)
    world.deliver(after=61)
    assert world.job(second)["status"] == "QUEUED"
    act(world.client, "drop", first)
    world.deliver(after=61)
    assert (world.job(second)["status"], len(target.received)) == ("DEAD", 2)


def test_manual_retry_operations(world: World, target: Target) -> None:
    register(world, maxRetries=0)
    task = exhausted(world)
    target.rule = lambda _: OK
    assert act(world.client, "retry", task)["done"] == 1
    world.deliver()
    shown = world.job(task)
    assert (shown["status"], shown["retryAttemptCount"], shown["replayCount"]) == ("DELIVERED", 0, 1)


def test_task_enqueue_and_retrieval_with_metadata_for_context(world: World) -> None:
    register(world, maxRetries=0)
    metadata = '{"priority": "high", "business_unit": "payments"}'
    task = failed(world, X_Broker_Metadata=metadata)
    message = get(world.client, task["messageUrl"])
    assert message["metadata"] == {"priority": "high", "business_unit": "payments"}
    assert message["payload"] == '{"type": "code_sweep"}'


def test_retry_processor_disabled_retries_nothing(start: Start, target: Target) -> None:
    world = start(retry_processor_enabled=False)
    register(world)
    task = failed(world)
    world.deliver(after=3600)
    assert attempts(target) == ["1"]
    shown = world.job(task["id"])
    assert (shown["status"], shown["retryAttemptCount"]) == ("QUEUED", 1)
    world.publish(CHANNEL)
    world.deliver()
    assert attempts(target) == ["1", "1"]


def test_respects_circuit_breaker_state_for_retries(world: World, target: Target) -> None:
    register(world, breakerThreshold=5)
    break_with(world, "TRANSIENT")
    ids = [world.publish(CHANNEL)[0] for _ in range(5)]
    world.deliver()
    assert len(target.received) == 5
    (late,) = world.publish(CHANNEL)
    world.deliver(after=30)
    assert len(target.received) == 5
    assert world.job(late)["retryAttemptCount"] == 0
    target.rule = lambda _: OK
    world.deliver(after=60)
    assert {world.job(one)["status"] for one in (*ids, late)} == {"DELIVERED"}


def test_an_open_breaker_lets_one_probe_through(world: World, target: Target) -> None:
    register(world, breakerThreshold=2, maxRetries=0)
    break_with(world, "TRANSIENT")
    for _ in range(2):
        exhausted(world)
    waiting = [world.publish(CHANNEL)[0] for _ in range(4)]
    world.deliver(after=61)
    assert len(target.received) == 3
    assert [world.job(one)["status"] for one in waiting].count("QUEUED") == 3


def test_persistent_storage_survives_a_restart(world: World, target: Target) -> None:
    register(world)
    task = failed(world)
    world.restart()
    assert world.job(task["id"]) == task
    world.deliver(after=60)
    assert attempts(target) == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("BROKER_RETRY_POLICY", "sometimes"), ("BROKER_RETRY_INTERVAL", "9"), ("BROKER_RETRY_INTERVAL", "3601"),
     ("BROKER_MAX_RETRIES", "-2"), ("BROKER_DLQ_ENABLED", "perhaps"), ("BROKER_DLQ_FULL_POLICY", "drop")],
)  # fmt: skip
def test_settings_are_validated(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name.removeprefix("BROKER_").lower()):
        load(None, {"BROKER_CONFIG": "none", name: value}, {})
