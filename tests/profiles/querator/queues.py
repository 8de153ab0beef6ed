"""A queue of seed 000: a channel with one pull consumer, and perhaps a dead queue."""

from typing import Any

from tests.profiles.world import BUILT_IN, World

WORKER = "worker"


def create(world: World, queue: str, dead_queue: str | None = None, **fields: object) -> None:
    """A queue whose dead go to the dead queue, or are deleted when it has none."""
    dead = {} if dead_queue is None else {"deadChannel": dead_queue, "deadLetterMode": "move"}
    world.channel(queue, **dead, **fields)
    world.pull(queue, WORKER)


def produce(world: World, queue: str, body: bytes = b"item", **headers: str) -> str:
    """One item; gives its id."""
    (item,) = world.publish(queue, body, **headers)
    return item


def lease(world: World, queue: str) -> Any:
    """All that is to be had, which is something."""
    leased = world.lease(queue, WORKER, clientId="client-1", limit=100)
    assert leased["jobs"]
    return leased


def lease_and_retry(world: World, queue: str, **fields: object) -> list[str]:
    """An attempt that fails."""
    return world.answer("retry", queue, WORKER, lease(world, queue), **fields)


def items(world: World, queue: str, consumer: str = WORKER) -> list[Any]:
    """All that is in a queue."""
    return [world.job(one["id"]) for one in world.jobs(queue, consumer)]


def dead_items(world: World, dead_queue: str) -> list[Any]:
    """All that was moved to a dead queue."""
    return items(world, dead_queue, BUILT_IN)
