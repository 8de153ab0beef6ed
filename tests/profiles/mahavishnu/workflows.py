"""A workflow of seed 001: a push consumer, and a target that fails in each of the six ways."""

from typing import Any

from tests.profiles.world import World, delay_of

CHANNEL, WORKFLOW = "workflows", "llamaindex"
STATUS_OF = {"TRANSIENT": 503, "RESOURCE": 507, "PERMISSION": 403, "VALIDATION": 422, "PERMANENT": 410}
NOWHERE = "http://127.0.0.1:9/"


def register(world: World, **fields: object) -> None:
    """The channel and its consumer, with settings of its own; the breaker does not join in unless it is asked to."""
    world.channel(CHANNEL)
    world.push(CHANNEL, WORKFLOW, **{"breakerThreshold": 0, **fields})


def break_with(world: World, category: str) -> None:
    """From now on every execution fails so."""
    if category == "NETWORK":
        world.consumer(CHANNEL, WORKFLOW, callbackUrl=NOWHERE)
    else:
        world.fails_with(STATUS_OF[category])


def failed(world: World, category: str = "TRANSIENT", **headers: str) -> Any:
    """A task after its first failure; None when nothing of it is kept."""
    break_with(world, category)
    (task,) = world.publish(CHANNEL, b'{"type": "code_sweep"}', **headers)
    world.deliver()
    return world.job(task)


def delays(world: World, task: str, most: int = 10) -> list[float]:
    """Every delay until the task is exhausted, each waited out."""
    found: list[float] = []
    while len(found) < most and (shown := world.job(task))["status"] == "QUEUED":
        found.append(delay_of(shown))
        world.deliver(after=found[-1])
    return found
