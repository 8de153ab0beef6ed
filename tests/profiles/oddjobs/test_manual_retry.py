"""Seed 002, phases 3 to 5: the command that resurrects items, the list, and what a retry block may say."""

import pytest

from tests.profiles.oddjobs.items import QUEUE, WORKER, command, failed, queue, standing
from tests.profiles.world import World, attempts, events
from tests.support.brokers import ADMIN
from tests.support.calls import faults, get
from tests.support.target import OK, Target


def test_retry_resurrects_a_dead_item(world: World, target: Target) -> None:
    item = failed(world)
    assert command(world).done("job", "retry", item["id"]) == "1 requeued, 0 skipped, 0 not found.\n"
    assert standing(world.job(item["id"]))[:2] == ("queued", 0)
    target.rule = lambda _: OK
    world.deliver()
    assert (world.job(item["id"])["status"], attempts(target)) == ("DELIVERED", ["1", "1"])


def test_retry_resets_the_failure_count(world: World, target: Target) -> None:
    item = failed(world, retry={"attempts": 2, "cooldown": "30s"})
    for _ in range(3):
        world.deliver(after=30)
    tried = len(target.received)
    command(world).done("job", "retry", item["id"])
    assert world.job(item["id"])["retryAttemptCount"] == 0
    for _ in range(4):
        world.deliver(after=30)
    assert (world.job(item["id"])["status"], len(target.received)) == ("DEAD", 2 * tried)


def test_the_retry_is_told_in_the_history(world: World) -> None:
    item = failed(world)
    command(world).done("job", "retry", item["id"])
    assert events(world.job(item["id"])) == ["failed", "died", "requeued"]


def test_retry_takes_the_8_characters_that_an_id_starts_with(world: World) -> None:
    item = failed(world)
    (told,) = command(world).json("job", "retry", item["id"][:8])["results"]
    assert (told["id"], told["result"]) == (item["id"], "done")


def test_retry_on_an_already_pending_item_returns_an_error(world: World) -> None:
    queue(world)
    (item,) = world.publish(QUEUE)
    before = world.job(item)
    result = command(world).run("job", "retry", item)
    assert (result.exit_code, result.stderr) == (1, f"{item}: skipped: it is queued\n")
    assert world.job(item) == before


def test_retry_on_an_item_that_is_not_there_returns_an_error(world: World) -> None:
    failed(world)
    result = command(world).run("job", "retry", "0" * 20)
    assert (result.exit_code, result.stdout) == (1, "0 requeued, 0 skipped, 1 not found.\n")


def test_retry_resurrects_a_failed_item_that_waits_out_its_cooldown(world: World) -> None:
    item = failed(world, retry={"attempts": 3, "cooldown": "30s"})
    result = command(world).run("job", "retry", item["id"])
    assert (result.exit_code, standing(world.job(item["id"]))[:2]) == (0, ("queued", 0))


def test_list_shows_dead_status_correctly(world: World) -> None:
    item = failed(world)
    world.consumer(QUEUE, WORKER, paused=True)
    (waiting,) = world.publish(QUEUE)
    _, *lines = command(world).done("job", "list", QUEUE, WORKER).splitlines()
    assert [line.split()[:2] for line in lines] == [[waiting, "queued"], [item["id"], "dead"]]
    (dead,) = command(world).json("job", "list", QUEUE, WORKER, "--state", "dead")
    assert (dead["id"], dead["state"], dead["retryAttemptCount"]) == (item["id"], "dead", 0)


def test_a_retry_block_loads(world: World) -> None:
    queue(world, retry={"attempts": 3, "cooldown": "30s"})
    settings = get(world.client, f"/channel/{QUEUE}/consumer/{WORKER}")["settings"]
    assert (settings["retryPolicy"], settings["retryBase"]) == ("fixed", 30)


@pytest.mark.parametrize(
    ("retry", "field"),
    [({"cooldown": "invalid"}, "retry.cooldown"), ({"cooldown": "-1s"}, "retry.cooldown"),
     ({"attempts": "three"}, "retry.attempts"), ({"attempts": 1.5}, "retry.attempts"), ({"tries": 3}, "retry.tries"),
     (3, "retry")],
)  # fmt: skip
def test_an_invalid_retry_block_is_an_error(world: World, retry: object, field: str) -> None:
    queue(world)
    for path in (f"/channel/{QUEUE}", f"/channel/{QUEUE}/consumer/{WORKER}"):
        before = get(world.client, path)
        assert faults(world.client.put(path, json={"retry": retry}, headers=ADMIN)) == [field]
        assert get(world.client, path) == before


def test_attempts_are_not_negative(world: World) -> None:
    queue(world)
    answer = world.client.put(f"/channel/{QUEUE}", json={"retry": {"attempts": -1}}, headers=ADMIN)
    assert answer.status_code == 400
