"""Seed 001: exhausted tasks are listed, counted in the statistics, and archived."""

from datetime import timedelta
from typing import Any

from broker.domain.times import show_time
from tests.profiles.mahavishnu.workflows import CHANNEL, WORKFLOW, break_with, delays, failed, register
from tests.profiles.world import World
from tests.support.brokers import ADMIN
from tests.support.calls import get, parsed
from tests.support.jobs import act
from tests.support.target import OK, Target

DLQ = f"/channel/{CHANNEL}/consumer/{WORKFLOW}/dlq"


def exhaust(world: World, category: str) -> str:
    """A task that has used up all its retries; gives its id."""
    task = failed(world, category)
    delays(world, task["id"])
    return str(task["id"])


def statistics(world: World) -> Any:
    """What everyone may ask for."""
    return get(world.client, f"/dlq-stats?consumer={WORKFLOW}")


def archive(world: World, conditions: str = "") -> Any:
    """Archive the tasks that meet the conditions."""
    answer = world.client.post(f"{DLQ}/archive{conditions}", headers=ADMIN)
    assert answer.status_code == 200, answer.text
    return parsed(answer)


def test_exhausted_retry_handling(world: World) -> None:
    register(world)
    task = exhaust(world, "TRANSIENT")
    shown = world.job(task)
    assert (shown["status"], shown["deadReason"], shown["retryAttemptCount"]) == ("DEAD", "RETRIES_EXHAUSTED", 3)
    assert [one["id"] for one in get(world.client, DLQ)["deadJobs"]] == [task]


def test_queue_statistics(world: World, target: Target) -> None:
    register(world, dlqMaxSize=100)
    for category in ("TRANSIENT", "TRANSIENT", "RESOURCE", "PERMISSION"):
        exhaust(world, category)
    break_with(world, "TRANSIENT")
    retried = get(world.client, f"{DLQ}?limit=1")["deadJobs"][0]["id"]
    target.rule = lambda _: OK
    act(world.client, "retry", retried)
    world.deliver()
    found = statistics(world)
    assert (found["queue_size"], found["max_size"], found["utilization_percent"]) == (3, 100, 3.0)
    assert sum(found["status_breakdown"].values()) == sum(found["error_categories"].values()) == found["examined"] == 3
    lifetime = {"enqueued_total": 4, "manually_retried": 1, "deleted": 0, "archived": 0, "moved": 0}
    assert found["lifetime_stats"] == lifetime
    assert found["retry_interval_seconds"] == 60


def test_statistics_break_down_by_status_category_and_policy(world: World) -> None:
    register(world)
    for category in ("TRANSIENT", "RESOURCE", "PERMISSION"):
        exhaust(world, category)
    found = statistics(world)
    assert found["status_breakdown"] == {"RETRIES_EXHAUSTED": 2, "NON_RETRYABLE": 1}
    assert found["error_categories"] == {"TRANSIENT": 1, "RESOURCE": 1, "PERMISSION": 1}
    assert found["retry_policies"] == {"exponential": 1, "linear": 1, "never": 1}


def test_task_archiving_removes_it_from_the_active_queue(world: World) -> None:
    register(world)
    task = exhaust(world, "PERMISSION")
    assert archive(world)["archivedCount"] == 1
    assert (world.job(task)["status"], get(world.client, DLQ)["deadJobs"]) == ("ARCHIVED", [])
    found = statistics(world)
    assert (found["queue_size"], found["lifetime_stats"]["archived"]) == (0, 1)


def test_archiving_old_tasks_leaves_the_new_ones(world: World) -> None:
    register(world)
    old = exhaust(world, "PERMISSION")
    world.pass_time(8 * 86_400)
    exhaust(world, "VALIDATION")
    week_ago = show_time(world.broker.clock.now() - timedelta(days=7))
    assert archive(world, f"?diedBefore={week_ago}")["archivedCount"] == 1
    assert world.job(old)["status"] == "ARCHIVED"
    assert [one["error"]["category"] for one in get(world.client, DLQ)["deadJobs"]] == ["VALIDATION"]
