"""Seed 003: replay of a node's dead letters by the admin API."""

from typing import Any

from tests.profiles.pipestream.nodes import DLQ, NODE, STREAM, TOPIC, dead_letters, node, stream, try_all
from tests.profiles.world import BUILT_IN, World, events
from tests.support.brokers import ADMIN
from tests.support.calls import parsed
from tests.support.target import OK, Target
from tests.support.truth import assert_exact


def replay(world: World, status: int = 202, node_id: str = NODE, **request: object) -> Any:
    """POST /admin/dlq/{nodeId}/replay"""
    answer = world.client.post(f"/admin/dlq/{node_id}/replay", json=request, headers=ADMIN)
    assert answer.status_code == status, answer.text
    return parsed(answer)


def failed_streams(world: World, count: int, status: int = 503) -> list[str]:
    """So many streams of the only node, in its dead-letter topic; gives their jobs' first ids."""
    world.fails_with(status)
    ids = [stream(world) for _ in range(count)]
    try_all(world)
    return ids


def test_admin_republishes_dlq_messages_to_the_nodes_input_topic(world: World, target: Target) -> None:
    node(world)
    failed_streams(world, 3)
    target.rule = lambda _: OK
    told = replay(world)
    assert (told["replayedCount"], told["skippedCount"], told["operation"]["state"]) == (3, 0, "done")
    assert dead_letters(world) == []
    before = len(target.received)
    world.deliver()
    assert [one.body for one in target.received[before:]] == [STREAM] * 3
    assert [one["status"] for one in world.jobs(TOPIC, NODE)] == ["DELIVERED"] * 3
    assert assert_exact(world.broker.parts) == 0


def test_replay_goes_on_while_the_request_has_more(world: World) -> None:
    node(world)
    failed_streams(world, 5)
    assert [replay(world, limit=2)["replayedCount"] for _ in range(4)] == [2, 2, 1, 0]


def test_a_replayed_stream_keeps_its_message_and_tells_where_it_was(world: World) -> None:
    node(world)
    (first,) = failed_streams(world, 1)
    (dead,) = dead_letters(world)
    replay(world)
    (again,) = world.jobs(TOPIC, NODE)
    shown = world.job(again["id"])
    assert (shown["state"], shown["retryAttemptCount"], shown["replayCount"]) == ("queued", 0, 1)
    assert shown["messageId"] == dead["origin"]["messageId"]
    origin = shown["origin"]
    assert (origin["jobId"], origin["channelId"], origin["consumerId"]) == (dead["id"], DLQ, BUILT_IN)
    assert (origin["errorType"], origin["failedAt"]) == ("HTTP_503", dead["origin"]["failedAt"])
    assert events(shown)[-2:] == ["moved", "replayed"]
    assert (world.job(dead["id"]), world.job(first)) == (None, None)


def test_a_stream_that_fails_again_comes_to_the_dlq_again(world: World) -> None:
    node(world)
    failed_streams(world, 2)
    for round_ in (1, 2):
        assert replay(world)["replayedCount"] == 2
        try_all(world)
        assert {one["replayCount"] for one in dead_letters(world)} == {round_}
    assert len(dead_letters(world)) == 2


def test_only_the_node_that_is_named_is_replayed_from_a_shared_dlq_topic(world: World) -> None:
    world.fails_with(503)
    world.channel("all-dead")
    for name in ("node-1", "node-2"):
        node(world, name, deadChannel="all-dead")
    world.publish(TOPIC, STREAM)
    try_all(world)
    assert replay(world, node_id="node-2")["replayedCount"] == 1
    assert [one["origin"]["consumerId"] for one in dead_letters(world, "all-dead")] == ["node-1"]
    assert [one["state"] for one in world.jobs(TOPIC, "node-2")] == ["queued"]


def test_since_until_category_and_fingerprint_select(world: World) -> None:
    node(world, maxRetries=0)
    failed_streams(world, 1)
    world.pass_time(3600)
    failed_streams(world, 1, status=400)
    old, new = sorted(dead_letters(world), key=lambda one: str(one["origin"]["failedAt"]))
    late = new["origin"]["failedAt"]
    assert [one["errorCategory"] for one in new["history"] if one["event"] == "moved"] == ["VALIDATION"]
    for request, count in (
        ({"until": old["origin"]["failedAt"]}, 1),
        ({"since": late}, 1),
        ({"since": old["origin"]["failedAt"], "until": late}, 2),
        ({"category": "VALIDATION"}, 1),
        ({"category": "RESOURCE"}, 0),
        ({"fingerprint": "f" * 32}, 0),
    ):
        assert replay(world, 200, dryRun=True, **request)["replayable"] == count
    told = replay(world, category="TRANSIENT")
    assert (told["replayedCount"], told["operation"]["filter"]) == (1, {"category": "TRANSIENT"})
    assert [one["id"] for one in dead_letters(world)] == [new["id"]]


def test_target_topic(world: World, target: Target) -> None:
    node(world)
    failed_streams(world, 2)
    world.channel("prod.chunker")
    world.push("prod.chunker", "node-9", breakerThreshold=0)
    told = replay(world, target="prod.chunker/node-9")
    assert (told["replayedCount"], told["operation"]["target"]) == (
        2, {"channelId": "prod.chunker", "consumerId": "node-9"},
    )  # fmt: skip
    target.rule = lambda _: OK
    world.deliver()
    assert [(one.path, one.body) for one in target.received[-2:]] == [("/node-9", STREAM)] * 2
    assert (dead_letters(world), world.jobs(TOPIC, NODE)) == ([], [])


def test_who_is_being_investigated_is_left_alone(world: World) -> None:
    node(world)
    failed_streams(world, 3)
    leased = world.lease(DLQ, BUILT_IN, limit=1)
    foretold = replay(world, 200, dryRun=True)
    assert (foretold["replayable"], foretold["leftAlone"]) == (2, {"inflight": 1, "dead": 0})
    told = replay(world)
    assert (told["replayedCount"], told["skippedCount"]) == (2, 1)
    assert world.answer("complete", DLQ, BUILT_IN, leased) == ["delivered"]
    assert replay(world)["replayedCount"] == 0


def test_a_dry_run_changes_nothing(world: World) -> None:
    node(world)
    failed_streams(world, 3)
    before = dead_letters(world)
    told = replay(world, 200, dryRun=True, limit=2)
    assert {name: told[name] for name in ("replayable", "retained", "moved", "complete", "limit")} == {
        "replayable": 2, "retained": 0, "moved": 3, "complete": True, "limit": 2,
    }  # fmt: skip
    assert (dead_letters(world), world.jobs(TOPIC, NODE)) == (before, [])
