"""A persisted queue of seed 002: a channel whose worker is pushed every item, and a pipeline that fails."""

from typing import Any

from tests.profiles.world import World
from tests.support.cli import Commands

QUEUE, WORKER = "builds", "builder"


def queue(world: World, **fields: object) -> None:
    """The queue and its worker; `retry` is the block of the seed."""
    world.channel(QUEUE)
    world.push(QUEUE, WORKER, **{"breakerThreshold": 0, **fields})


def failed(world: World, **fields: object) -> Any:
    """An item whose pipeline has just failed for the first time, in a queue of its own."""
    queue(world, **fields)
    world.fails_with(500, b"pipeline failed")
    (item,) = world.publish(QUEUE)
    world.deliver()
    return world.job(item)


def standing(item: Any) -> tuple[str, int, str | None]:
    """How an item stands: its state, its failures that led to a retry, and when it is tried next."""
    return item["state"], item["retryAttemptCount"], item["nextAttemptAt"]


def command(world: World) -> Commands:
    """`broker` on the world's database."""
    return Commands(world.database_url)
