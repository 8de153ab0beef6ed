"""Seed 000, phase 1: items that are imported keep the id they had, and arrive once."""

from typing import Any

import pytest

from tests.profiles.querator.queues import WORKER, create, dead_items, items, lease, produce
from tests.profiles.world import BUILT_IN, World
from tests.support.brokers import ADMIN


def bring(world: World, queue: str, *jobs: object, consumer: str = WORKER) -> Any:
    """Import items; gives what became of them."""
    return world.done(world.call(queue, consumer, "import", {"jobs": jobs}))


def statuses(told: Any) -> list[int]:
    """What became of each."""
    return [one["status"] for one in told["results"]]


@pytest.fixture
def queue(world: World) -> World:
    """An empty queue."""
    create(world, "source")
    return world


def test_ImportWithSourceID(queue: World) -> None:
    told = bring(queue, "source", {"payload": "imported", "sourceJobId": "abc"})
    assert (statuses(told), told["created"], told["ignored"], told["rejected"]) == ([201], 1, 0, 0)
    (item,) = items(queue, "source")
    assert (item["id"], item["sourceJobId"]) == (told["results"][0]["jobId"], "abc")
    (leased,) = lease(queue, "source")["jobs"]
    assert leased["message"]["payload"] == "imported"


def test_DuplicateSourceIDIgnored(queue: World) -> None:
    first = bring(queue, "source", {"payload": "first", "sourceJobId": "abc"})
    second = bring(queue, "source", {"payload": "second", "sourceJobId": "abc"})
    assert (statuses(first), statuses(second)) == ([201], [200])
    assert second["results"][0]["jobId"] == first["results"][0]["jobId"]
    (leased,) = lease(queue, "source")["jobs"]
    assert leased["message"]["payload"] == "first"


def test_SourceIDPreservedOnList(queue: World) -> None:
    bring(queue, "source", {"payload": "imported", "sourceJobId": "abc"})
    (listed,) = queue.jobs("source", WORKER)
    assert (listed["sourceJobId"], listed["origin"]["jobId"]) == ("abc", "abc")


def test_SourceID_is_empty_for_regular_items(queue: World) -> None:
    produce(queue, "source")
    bring(queue, "source", {"payload": "imported without a source"})
    assert [(one["sourceJobId"], one["origin"]) for one in queue.jobs("source", WORKER)] == [(None, None)] * 2


def test_Idempotency(world: World) -> None:
    create(world, "dead")
    create(world, "source", dead_queue="dead")
    told = [bring(world, "dead", {"payload": "x", "sourceJobId": "abc"}, consumer=BUILT_IN) for _ in range(2)]
    assert [statuses(one) for one in told] == [[201], [200]]
    (item,) = dead_items(world, "dead")
    assert item["sourceJobId"] == "abc" != item["id"]


def test_what_was_moved_to_the_dead_queue_is_not_imported_again(world: World) -> None:
    create(world, "dead")
    create(world, "source", dead_queue="dead")
    moved = produce(world, "source")
    world.answer("retry", "source", WORKER, lease(world, "source"), dead=True)
    told = bring(world, "dead", {"payload": "x", "sourceJobId": moved}, consumer=BUILT_IN)
    assert statuses(told) == [200]
    assert [one["sourceJobId"] for one in dead_items(world, "dead")] == [moved]


def test_a_source_id_is_unique_in_its_own_queue_only(queue: World) -> None:
    create(queue, "other")
    queue.pull("source", "second")
    places = (("source", WORKER), ("source", "second"), ("other", WORKER))
    told = [bring(queue, channel, {"sourceJobId": "abc"}, consumer=consumer) for channel, consumer in places]
    assert [statuses(one) for one in told] == [[201]] * 3


def test_a_deleted_item_can_be_imported_again(queue: World) -> None:
    told = bring(queue, "source", {"sourceJobId": "abc", "state": "dead", "deadReason": "REJECTED"})
    queue.client.delete(told["results"][0]["location"], headers=ADMIN)
    assert items(queue, "source") == []
    assert statuses(bring(queue, "source", {"sourceJobId": "abc"})) == [201]
