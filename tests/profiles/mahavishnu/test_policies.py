"""Seed 001: error classification, and the delays of each retry policy, exactly."""

import pytest

from tests.profiles.mahavishnu.workflows import CHANNEL, WORKFLOW, delays, failed, register
from tests.profiles.world import World, attempts, delay_of
from tests.support.target import OK, Target

MINUTE = 60.0


@pytest.mark.parametrize("category", ["TRANSIENT", "NETWORK"])
def test_transient_and_network_errors_are_exponential(world: World, category: str) -> None:
    register(world)
    task = failed(world, category)
    assert (task["error"]["category"], task["appliedPolicy"]) == (category, "exponential")
    assert delays(world, task["id"]) == [1 * MINUTE, 2 * MINUTE, 4 * MINUTE]
    assert world.job(task["id"])["deadReason"] == "RETRIES_EXHAUSTED"


def test_resource_errors_are_linear(world: World) -> None:
    register(world)
    task = failed(world, "RESOURCE")
    assert (task["error"]["category"], task["appliedPolicy"]) == ("RESOURCE", "linear")
    assert delays(world, task["id"]) == [5 * MINUTE, 10 * MINUTE, 15 * MINUTE]


@pytest.mark.parametrize("category", ["PERMISSION", "VALIDATION", "PERMANENT"])
def test_permission_validation_and_permanent_errors_are_never_retried(
    world: World, target: Target, category: str
) -> None:
    register(world)
    task = failed(world, category)
    assert (task["error"]["category"], task["appliedPolicy"]) == (category, "never")
    assert (task["status"], task["deadReason"], task["retryAttemptCount"]) == ("DEAD", "NON_RETRYABLE", 0)
    world.deliver(after=86_400)
    assert attempts(target) == ["1"]


@pytest.mark.parametrize(
    ("status", "category"),
    [(408, "TRANSIENT"), (404, "TRANSIENT"), (409, "TRANSIENT"), (423, "TRANSIENT"), (425, "TRANSIENT"),
     (429, "TRANSIENT"), (500, "TRANSIENT"), (502, "TRANSIENT"), (599, "TRANSIENT"), (413, "RESOURCE"),
     (507, "RESOURCE"), (401, "PERMISSION"), (403, "PERMISSION"), (407, "PERMISSION"), (400, "VALIDATION"),
     (415, "VALIDATION"), (410, "PERMANENT"), (302, "PERMANENT")],
)  # fmt: skip
def test_the_dlq_automatically_classifies_errors(world: World, status: int, category: str) -> None:
    register(world)
    world.fails_with(status)
    (task,) = world.publish(CHANNEL)
    world.deliver()
    shown = world.job(task)
    assert (shown["error"]["type"], shown["error"]["category"]) == (f"HTTP_{status}", category)


def test_policy_exponential_has_a_60_minute_cap(world: World) -> None:
    register(world, retryPolicy="exponential", maxRetries=8)
    expected = [min(2**n, 60) * MINUTE for n in range(8)]
    assert delays(world, failed(world)["id"]) == expected


def test_policy_linear(world: World) -> None:
    register(world, retryPolicy="linear", maxRetries=5)
    assert delays(world, failed(world)["id"]) == [5 * (n + 1) * MINUTE for n in range(5)]


def test_policy_immediate(world: World, target: Target) -> None:
    register(world, retryPolicy="immediate")
    task = failed(world)
    assert attempts(target) == ["1", "2", "3", "4"]
    assert (task["status"], task["appliedPolicy"]) == ("DEAD", "immediate")


def test_policy_never_is_enqueued_but_not_retried(world: World, target: Target) -> None:
    register(world, retryPolicy="never")
    task = failed(world)
    assert (task["status"], task["deadReason"], task["appliedPolicy"]) == ("DEAD", "NON_RETRYABLE", "never")
    world.deliver(after=86_400)
    assert len(target.received) == 1


def test_a_policy_that_is_named_holds_for_every_category(world: World) -> None:
    register(world, retryPolicy="linear")
    assert delay_of(failed(world, "PERMISSION")) == 5 * MINUTE


def test_no_retry_before_its_time(world: World, target: Target) -> None:
    register(world)
    failed(world)
    world.deliver(after=30)
    assert attempts(target) == ["1"]
    world.deliver(after=30)
    assert attempts(target) == ["1", "2"]


def test_a_task_that_succeeds_on_retry_is_done(world: World, target: Target) -> None:
    register(world)
    task = failed(world)
    target.rule = lambda _: OK
    world.deliver(after=60)
    shown = world.job(task["id"])
    assert (shown["status"], shown["outcome"], shown["retryAttemptCount"]) == ("DELIVERED", "ok", 1)


def test_max_retries_and_policy_of_one_task(world: World) -> None:
    register(world)
    override = '{"retryPolicy": "linear", "maxRetries": 5}'
    task = failed(world, X_Broker_Overrides=override)
    assert (task["appliedPolicy"], task["appliedMaxRetries"]) == ("linear", 5)
    assert delays(world, task["id"]) == [300, 600, 900, 1200, 1500]


def test_the_handler_that_classifies_its_own_error(world: World) -> None:
    world.channel(CHANNEL)
    world.pull(CHANNEL, WORKFLOW)
    ids = [world.publish(CHANNEL)[0] for _ in range(2)]
    for category in ("RESOURCE", "VALIDATION"):
        error = {"type": "HANDLER", "category": category, "text": "quota"}
        world.answer("retry", CHANNEL, WORKFLOW, world.lease(CHANNEL, WORKFLOW), error=error)
    resource, validation = (world.job(one) for one in ids)
    assert (resource["appliedPolicy"], delay_of(resource)) == ("linear", 300)
    assert (validation["status"], validation["deadReason"]) == ("DEAD", "NON_RETRYABLE")
