"""A node of seed 003: a consumer of a topic that calls a module, and its dead-letter topic."""

from typing import Any

from tests.profiles.world import BUILT_IN, World
from tests.support.brokers import ADMIN

TOPIC, NODE = "prod.parser", "node-1"
DLQ = f"dlq.prod.{NODE}"
STREAM = b'{"document_ref": "repo/doc-1"}'


def node(world: World, name: str = NODE, /, **fields: object) -> None:
    """A node of the topic; the breaker does not join in unless it is asked to."""
    world.channel(TOPIC)
    world.push(TOPIC, name, **{"breakerThreshold": 0, **fields})


def stream(world: World, **headers: str) -> str:
    """A stream for the only node; gives the id of its job."""
    (made,) = world.publish(TOPIC, STREAM, **headers)
    return made


def try_all(world: World) -> None:
    """Every try, each at its time: backoff of 10 s, linear."""
    for delay in (0, 10, 20):
        world.deliver(after=delay)


def dead_letters(world: World, topic: str = DLQ) -> list[Any]:
    """What is in a dead-letter topic; nothing when there is none."""
    if world.client.get(f"/channel/{topic}", headers=ADMIN).status_code == 404:
        return []
    return [world.job(one["id"]) for one in world.jobs(topic, BUILT_IN)]
