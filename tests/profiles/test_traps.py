"""Traps of real systems of this kind (PRODUCT.md, end of section 12), with the defaults where a trap needs no setting.

Those of the summary, its checkpoints and its gauge have their tests beside the summary.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.profiles.querator.queues import WORKER, create, dead_items, items, lease, produce
from tests.profiles.world import World, attempts, delay_of
from tests.support.brokers import ADMIN
from tests.support.calls import faults, get
from tests.support.jobs import act
from tests.support.target import OK, Answer, Target

CHANNEL, CONSUMER = "orders", "billing"
PLACE = f"/channel/{CHANNEL}/consumer/{CONSUMER}"


@pytest.fixture
def settings_file() -> Path:
    """The defaults."""
    return Path(__file__).parent / "webhook_broker" / "broker.toml"


def failing(world: World, **fields: object) -> str:
    """A job for a target that always fails; gives its id."""
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER, **{"breakerThreshold": 0, **fields})
    world.fails_with(503)
    (made,) = world.publish(CHANNEL)
    return made


def last_attempt(world: World, queue: str, **fields: str) -> tuple[str, Any]:
    """An item whose last attempt has just been leased; gives its id and the lease."""
    create(world, queue, None, **fields)
    world.pull(queue, WORKER, maxRetries=1, retryPolicy="immediate")
    item = produce(world, queue)
    world.answer("retry", queue, WORKER, lease(world, queue))
    return item, lease(world, queue)


def test_automatic_retry_that_resets_the_count_so_nothing_ever_dies(world: World, target: Target) -> None:
    made = failing(world, retryPolicy="fixed", retryBase="10s")
    counts = []
    for _ in range(6):
        world.deliver(after=10)
        counts.append(world.job(made)["retryAttemptCount"])
    assert counts == [1, 2, 3, 3, 3, 3]
    assert (world.job(made)["status"], attempts(target)) == ("DEAD", ["1", "2", "3", "4"])


def test_only_a_requeue_by_hand_resets_the_count(world: World, target: Target) -> None:
    made = failing(world, retryPolicy="immediate", maxRetries=1)
    world.deliver()
    assert (world.job(made)["status"], world.job(made)["retryAttemptCount"]) == ("DEAD", 1)
    act(world.client, "retry", made)
    assert world.job(made)["retryAttemptCount"] == 0
    world.deliver()
    assert attempts(target) == ["1", "2", "1", "2"]


def test_a_scan_that_kills_the_last_attempt_while_it_runs(world: World) -> None:
    item, leased = last_attempt(world, "source")
    for _ in range(3):
        world.deliver(after=15)
        assert world.job(item)["status"] == "INFLIGHT"
    assert world.answer("complete", "source", WORKER, leased) == ["delivered"]


def test_a_scan_that_kills_an_expired_job_while_its_lease_is_valid(world: World) -> None:
    item, leased = last_attempt(world, "source", expireAfter="20s")
    world.deliver(after=40)
    assert world.job(item)["status"] == "INFLIGHT"
    assert world.answer("complete", "source", WORKER, leased) == ["delivered"]


def test_an_expired_job_dies_when_its_lease_has_ended_too(world: World) -> None:
    item, _ = last_attempt(world, "source", expireAfter="20s")
    world.deliver(after=61)
    assert (world.job(item)["status"], world.job(item)["deadReason"]) == ("DEAD", "EXPIRED")


def test_a_push_that_is_under_way_when_its_job_expires_is_delivered(world: World, target: Target) -> None:
    made = failing(world, expireAfter="20s")

    def slow(_: object) -> Answer:
        world.pass_time(40)
        return OK

    target.rule = slow
    world.deliver()
    assert (world.job(made)["status"], attempts(target)) == ("DELIVERED", ["1"])


@pytest.mark.parametrize("mode", ["retain", "move"])
def test_dead_true_that_deletes(world: World, mode: str) -> None:
    create(world, "dead")
    create(world, "source", dead_queue="dead")
    world.pull("source", WORKER, deadLetterMode=mode)
    item = produce(world, "source", b"evidence")
    told = world.answer("retry", "source", WORKER, lease(world, "source"), dead=True)
    (kept,) = items(world, "source") if mode == "retain" else dead_items(world, "dead")
    assert (told, kept["deadReason"]) == ((["dead"], "REJECTED") if mode == "retain" else (["moved"], None))
    assert item in (kept["id"], (kept["origin"] or {}).get("jobId"))
    assert get(world.client, kept["messageUrl"])["payload"] == "evidence"


@pytest.mark.parametrize("mode", ["retain", "move", "discard"])
def test_an_expired_unleased_job_that_stays_in_its_source(world: World, mode: str) -> None:
    create(world, "dead")
    create(world, "source", dead_queue="dead", expireAfter="30s")
    world.pull("source", WORKER, deadLetterMode=mode)
    produce(world, "source")
    world.deliver(after=31)
    assert world.jobs("source", WORKER, "queued") == []
    assert len(world.jobs("source", WORKER, "dead")) == (mode == "retain")
    assert len(dead_items(world, "dead")) == (mode == "move")


@pytest.mark.parametrize(
    "path", ["/channel/dead", f"/channel/dead/consumer/{WORKER}", "/channel/dead/consumer/dead-letters"]
)
def test_a_chain_of_dead_channels_made_by_a_later_update(world: World, path: str) -> None:
    for name in ("dead", "deader"):
        create(world, name)
    create(world, "source", dead_queue="dead")
    before = get(world.client, path)
    assert faults(world.client.put(path, json={"deadChannel": "deader"}, headers=ADMIN)) == ["deadChannel"]
    assert get(world.client, path) == before


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("alert", ["DEAD"] * 4), ("reject", ["DEAD", "DEAD", "QUEUED", "QUEUED"]),
     ("archive_oldest", ["ARCHIVED", "ARCHIVED", "DEAD", "DEAD"])],
)  # fmt: skip
def test_a_full_queue_that_drops_work(world: World, policy: str, expected: list[str]) -> None:
    ids = [failing(world, maxRetries=0, dlqMaxSize=2, dlqFullPolicy=policy)]
    world.deliver()
    for _ in range(3):
        ids += world.publish(CHANNEL)
        world.deliver()
    assert [world.job(one)["status"] for one in ids] == expected
    world.deliver(after=3600)
    assert [world.job(one)["status"] for one in ids] == expected


def test_a_restart_that_forgets_retry_times(world: World, target: Target) -> None:
    made = failing(world)
    world.deliver()
    before = world.job(made)
    world.restart()
    assert (world.job(made), delay_of(before)) == (before, 60)
    world.deliver(after=58)
    assert attempts(target) == ["1"]
    world.deliver(after=2)
    assert attempts(target) == ["1", "2"]


def test_a_restart_that_forgets_a_lease(world: World) -> None:
    create(world, "source")
    item = produce(world, "source")
    leased = lease(world, "source")
    world.restart()
    assert world.lease("source", WORKER)["jobs"] == []
    assert world.answer("complete", "source", WORKER, leased) == ["delivered"]
    assert world.job(item)["status"] == "DELIVERED"


@pytest.mark.parametrize("update", [{}, {"name": "Billing 2"}, {"paused": False}, {"retryBase": "5s"}])
def test_an_update_without_a_field_that_clears_it(world: World, target: Target, update: dict[str, object]) -> None:
    world.channel("dead")
    world.channel(CHANNEL, name="Orders")
    own = {"maxRetries": 7, "retryPolicy": "linear", "deadLetterMode": "move", "deadChannel": "dead"}
    world.push(CHANNEL, CONSUMER, name="Billing", **own)
    before = get(world.client, PLACE)
    changed = {name: value for name, value in world.consumer(CHANNEL, CONSUMER, **update).items() if name in before}
    expected = {**before, **{name: value for name, value in update.items() if name in before}}
    expected["settings"] = {**before["settings"], **({"retryBase": 5} if "retryBase" in update else {})}
    assert {**changed, "changedAt": None} == {**expected, "changedAt": None}


def test_an_update_without_a_token_or_a_secret_keeps_them(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER)
    made = world.consumer(CHANNEL, CONSUMER, name="Billing")
    assert not {"token", "signingSecret"} & set(made)
    world.publish(CHANNEL)
    world.deliver()
    assert target.received[0].headers["x-broker-consumer-token"] == f"{CONSUMER}-token"
    headers = {"X-Broker-Channel-Token": "channel-token", "X-Broker-Consumer-Token": f"{CONSUMER}-token"}
    (delivered,) = world.jobs(CHANNEL, CONSUMER)
    assert world.client.get(f"{PLACE}/job/{delivered['id']}", headers=headers).status_code == 200
