"""Seed 003: what triggers the DLQ, and what does not."""

import json
import socket

import pytest

from tests.profiles.pipestream.nodes import DLQ, NODE, STREAM, TOPIC, dead_letters, node, stream, try_all
from tests.profiles.world import World, attempts, paths
from tests.support.brokers import ADMIN
from tests.support.calls import faults, get, send
from tests.support.target import Answer, Target


def trigger(world: World, **fields: object) -> str | None:
    """The error type under which a stream ends in the DLQ after all its tries."""
    node(world, NODE, **fields)
    made = stream(world)
    try_all(world)
    (dead,) = dead_letters(world)
    assert (dead["origin"]["jobId"], world.job(made)) == (made, None)
    assert dead["origin"]["retryCount"] == 2
    return str(dead["origin"]["errorType"])


def test_module_unreachable_goes_to_the_dlq(world: World) -> None:
    assert trigger(world, callbackUrl="http://no-such-module.invalid/") == "DNS"


def test_timeout_goes_to_the_dlq_after_retries_exhausted(world: World, target: Target) -> None:
    target.rule = lambda _: Answer(hang=True)
    assert trigger(world, deliveryTimeout=0.3, connectTimeout=0.3) == "TIMEOUT"
    assert attempts(target) == ["1", "2", "3"]


def test_connection_refused_goes_to_the_dlq(world: World) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert trigger(world, callbackUrl=f"http://127.0.0.1:{closed.getsockname()[1]}/") == "CONNECT"


def test_a_module_that_crashes_goes_to_the_dlq(world: World, target: Target) -> None:
    target.rule = lambda _: Answer(drop=True)
    assert trigger(world) == "BROKEN"


def test_repeated_transient_failures_go_to_the_dlq_after_the_retry_threshold(world: World, target: Target) -> None:
    world.fails_with(503)
    node(world)
    made = stream(world)
    for delay in (0, 10):
        world.deliver(after=delay)
        assert (world.job(made)["state"], dead_letters(world)) == ("retrying", [])
    world.deliver(after=20)
    assert (len(dead_letters(world)), attempts(target)) == (1, ["1", "2", "3"])


@pytest.mark.parametrize(
    "answer",
    [Answer(200, {}, b'{"success": false, "error": "no such page"}'), Answer(200, {"X-Broker-Result": "failed"})],
    ids=["body", "header"],
)
def test_success_false_is_a_logical_failure_and_not_a_dlq_case(world: World, target: Target, answer: Answer) -> None:
    target.rule = lambda _: answer
    node(world)
    made = stream(world)
    world.deliver()
    world.deliver(after=86_400)
    shown = world.job(made)
    assert (shown["status"], shown["outcome"], shown["deadReason"]) == ("DELIVERED", "failed", None)
    assert (attempts(target), dead_letters(world)) == (["1"], [])


def test_a_logical_failure_is_logged_in_the_history(world: World) -> None:
    world.fails_with(200, b'{"success": false, "error": "no such page"}')
    node(world)
    made = stream(world)
    world.deliver()
    (event,) = world.job(made)["history"]
    assert event["event"] == "answered-failed"
    assert json.loads(event["detail"])["error"] == "no such page"


def test_a_logical_failure_continues_to_the_next_nodes_with_the_original_document(world: World, target: Target) -> None:
    target.rule = lambda one: Answer(200, {}, b'{"success": false}' if one.path == f"/{NODE}" else b"")
    node(world)
    node(world, "node-2")
    ids = world.publish(TOPIC, STREAM)
    world.deliver()
    assert sorted(paths(target.received)) == [f"/{NODE}", "/node-2"]
    assert {one.body for one in target.received} == {STREAM}
    assert sorted(world.job(one)["outcome"] for one in ids) == ["failed", "ok"]


@pytest.mark.parametrize("body", [b'{"success": true}', b"", b"success: false", b'["success", false]'])
def test_any_other_answer_is_a_success(world: World, body: bytes) -> None:
    world.fails_with(200, body)
    node(world)
    made = stream(world)
    world.deliver()
    assert (world.job(made)["outcome"], world.job(made)["history"]) == ("ok", [])


def test_a_malformed_stream_is_refused_and_nothing_is_stored(world: World) -> None:
    node(world)
    answer = send(world.client, {"X-Broker-Hop-Count": "many"}, STREAM, TOPIC)
    assert faults(answer) == ["X-Broker-Hop-Count"]
    assert (world.jobs(TOPIC, NODE), get(world.client, f"/channel/{TOPIC}/messages")["result"]) == ([], [])


def test_max_hops_exceeded_is_dead_and_never_processed(world: World, target: Target) -> None:
    node(world)
    made = stream(world, X_Broker_Hop_Count="21")
    world.deliver(after=86_400)
    (shown,) = dead_letters(world)
    assert (shown["origin"]["jobId"], shown["origin"]["errorType"], target.received) == (made, "MAX_HOPS", [])


def test_max_hops_exceeded_goes_to_the_dlq(world: World) -> None:
    node(world)
    made = stream(world, X_Broker_Hop_Count="21")
    world.deliver()
    assert [one["origin"]["jobId"] for one in dead_letters(world)] == [made]


def test_max_hops_prevents_loops(world: World, target: Target) -> None:
    node(world)
    hops = "0"
    for _ in range(30):
        stream(world, X_Broker_Hop_Count=hops)
        world.deliver()
        hops = target.received[-1].headers["x-broker-hop-count"]
    assert hops == "21"
    assert len(target.received) == 21


def test_poison_messages_do_not_block_the_pipeline(world: World, target: Target) -> None:
    target.rule = lambda one: Answer(503 if one.body == b"poison" else 200)
    node(world)
    poison, *others = [world.publish(TOPIC, body)[0] for body in (b"poison", b"1", b"2", b"3")]
    world.deliver()
    assert [world.job(one)["status"] for one in others] == ["DELIVERED"] * 3
    assert world.job(poison)["state"] == "retrying"


def test_the_dlq_topic_exists_only_when_it_is_needed(world: World) -> None:
    node(world)
    stream(world)
    world.deliver()
    assert world.client.get(f"/channel/{DLQ}", headers=ADMIN).status_code == 404
