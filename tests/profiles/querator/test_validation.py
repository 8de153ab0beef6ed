"""Seed 000, phase 2: dead queues are checked when a queue is created and when it is changed."""

import pytest

from tests.profiles.querator.queues import WORKER, create
from tests.profiles.world import World
from tests.support.brokers import ADMIN
from tests.support.calls import code_of, get, parsed, path_of

WAYS = pytest.mark.parametrize("way", ["create", "update"])


def refusal(world: World, queue: str, dead_queue: str, consumer: str | None = None) -> str:
    """Why a dead queue is refused; nothing of it is stored."""
    path = path_of("channel", queue, *(() if consumer is None else ("consumer", consumer)))
    before = world.client.get(path, headers=ADMIN)
    fields = {"deadChannel": dead_queue, **({} if consumer is None else {"type": "pull"})}
    answer = world.client.put(path, json=fields, headers=ADMIN)
    assert answer.status_code == 400
    after = world.client.get(path, headers=ADMIN)
    assert (after.status_code, after.data if before.status_code == 200 else b"") == (
        before.status_code,
        before.data if before.status_code == 200 else b"",
    )
    return str(parsed(answer)["errors"][0]["message"])


def existing(world: World, way: str, queue: str) -> None:
    """The queue is there already when the way is an update."""
    if way == "update":
        create(world, queue)


@WAYS
def test_NonExistentDLQ(world: World, way: str) -> None:
    existing(world, way, "source")
    assert "does not exist" in refusal(world, "source", "missing")


@WAYS
def test_SelfReference(world: World, way: str) -> None:
    existing(world, way, "source")
    assert "cannot be the channel itself" in refusal(world, "source", "source")


@WAYS
def test_DLQHasDLQ(world: World, way: str) -> None:
    create(world, "C")
    create(world, "B", dead_queue="C")
    existing(world, way, "A")
    assert "cannot have its own dead channel" in refusal(world, "A", "B")


@WAYS
def test_ValidDLQ(world: World, way: str) -> None:
    create(world, "dead")
    existing(world, way, "source")
    create(world, "source", dead_queue="dead")
    assert get(world.client, "/channel/source")["deadChannel"] == "dead"


def test_a_queue_configured_as_a_DLQ_cannot_get_its_own_DLQ(world: World) -> None:
    create(world, "dead")
    create(world, "source", dead_queue="dead")
    create(world, "other")
    assert "is itself a dead channel" in refusal(world, "dead", "other")
    assert "is itself a dead channel" in refusal(world, "dead", "other", consumer=WORKER)


def test_a_dead_queue_of_one_consumer_is_checked_as_well(world: World) -> None:
    create(world, "C")
    create(world, "B", dead_queue="C")
    create(world, "A")
    for dead_queue, reason in (("missing", "does not exist"), ("A", "itself"), ("B", "cannot have its own")):
        assert reason in refusal(world, "A", dead_queue, consumer=WORKER)
        assert reason in refusal(world, "A", dead_queue, consumer="new")


def test_a_dead_queue_cannot_be_deleted_while_in_use(world: World) -> None:
    create(world, "dead")
    create(world, "source", dead_queue="dead")
    for path in ("/channel/dead", "/channel/dead?force=true", "/channel/dead/consumer/dead-letters"):
        assert code_of(world.client.delete(path, headers=ADMIN)) == (409, "in-use")
