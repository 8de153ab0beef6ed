"""Seed 003: the dead-letter topics, their messages, their configuration and the manual replay."""

from datetime import datetime

from tests.profiles.pipestream.nodes import DLQ, NODE, STREAM, TOPIC, dead_letters, node, stream, try_all
from tests.profiles.world import BUILT_IN, World, attempts, delay_of
from tests.support.calls import get
from tests.support.target import OK, Target


def channels(world: World) -> list[str]:
    """The names of all topics."""
    return sorted(one.removeprefix("/channel/") for one in get(world.client, "/channels")["result"])


def test_one_dlq_topic_per_node(world: World) -> None:
    world.fails_with(503)
    for name in ("node-1", "node-2"):
        node(world, name)
    world.publish(TOPIC, STREAM)
    try_all(world)
    assert channels(world) == ["dlq.prod.node-1", "dlq.prod.node-2", TOPIC]
    for name in ("node-1", "node-2"):
        (dead,) = dead_letters(world, f"dlq.prod.{name}")
        assert dead["origin"]["consumerId"] == name


def test_the_cluster_id_is_part_of_the_name(world: World) -> None:
    world.fails_with(503)
    node(world)
    stream(world)
    try_all(world)
    name = world.options["dead_channel_template"].format(broker_id=world.options["broker_id"], consumer_id=NODE)
    assert (name, channels(world)) == (DLQ, [DLQ, TOPIC])


def test_dlq_message_format(world: World) -> None:
    world.fails_with(503, b"module is busy")
    node(world)
    made = stream(world, X_Broker_Message_ID="stream-1")
    try_all(world)
    origin = dead_letters(world)[0]["origin"]
    assert (origin["errorType"], origin["retryCount"], origin["jobId"]) == ("HTTP_503", 2, made)
    assert "module is busy" in origin["errorText"]
    assert (origin["consumerId"], origin["channelId"], origin["messageId"]) == (NODE, TOPIC, "stream-1")
    age = world.broker.clock.now() - datetime.fromisoformat(origin["failedAt"])
    assert 0 <= age.total_seconds() < 5


def test_the_failed_stream_is_preserved_as_it_was(world: World) -> None:
    world.fails_with(503)
    node(world)
    stream(world, Content_Type="application/json", X_Broker_Metadata_Headers="X-Tenant", X_Tenant="acme")
    try_all(world)
    (leased,) = world.lease(DLQ, BUILT_IN)["jobs"]
    message = leased["message"]
    assert (message["payload"].encode(), message["contentType"]) == (STREAM, "application/json")
    assert message["headers"]["X-Tenant"] == "acme"


def test_linear_backoff(world: World, target: Target) -> None:
    world.fails_with(503)
    node(world, maxRetries=4, retryBase="7s")
    made = stream(world)
    delays: list[float] = []
    for _ in range(4):
        world.deliver(after=delays[-1] if delays else 0)
        delays.append(delay_of(world.job(made)))
    assert delays == [7, 14, 21, 28]


def test_max_retries_of_the_seed_counts_tries(world: World, target: Target) -> None:
    world.fails_with(503)
    node(world)
    stream(world)
    try_all(world)
    world.deliver(after=86_400)
    assert attempts(target) == ["1", "2", "3"]


def test_the_dlq_is_enabled_by_default_and_can_be_disabled_per_node(world: World) -> None:
    world.fails_with(503)
    node(world)
    node(world, "node-2", dlqStrategy="disabled")
    ids = world.publish(TOPIC, STREAM)
    try_all(world)
    assert [world.job(one) for one in ids] == [None, None]
    assert channels(world) == [DLQ, TOPIC]


def test_topic_overrides_the_default_naming(world: World) -> None:
    world.fails_with(503)
    world.channel("parser-dead")
    node(world, deadChannel="parser-dead")
    made = stream(world)
    try_all(world)
    assert [one["origin"]["jobId"] for one in dead_letters(world, "parser-dead")] == [made]
    assert channels(world) == ["parser-dead", TOPIC]


def test_max_retries_and_backoff_are_configured_per_node(world: World, target: Target) -> None:
    world.fails_with(503)
    node(world, maxRetries=0)
    node(world, "node-2", retryBase="1m")
    world.publish(TOPIC, STREAM)
    world.deliver()
    assert len(dead_letters(world)) == 1
    (waiting,) = world.jobs(TOPIC, "node-2")
    assert delay_of(waiting) == 60


def test_manual_replay_republishes_dlq_messages(world: World, target: Target) -> None:
    world.fails_with(503)
    node(world)
    stream(world)
    try_all(world)
    target.rule = lambda _: OK
    leased = world.lease(DLQ, BUILT_IN)
    (again,) = world.publish(TOPIC, leased["jobs"][0]["message"]["payload"].encode())
    assert world.answer("complete", DLQ, BUILT_IN, leased) == ["delivered"]
    world.deliver()
    assert world.job(again)["status"] == "DELIVERED"
    assert (target.received[-1].body, world.lease(DLQ, BUILT_IN)["jobs"]) == (STREAM, [])


def test_dead_letters_wait_for_investigation(world: World, target: Target) -> None:
    world.fails_with(503)
    node(world)
    stream(world)
    try_all(world)
    world.deliver(after=30 * 86_400)
    assert [one["state"] for one in dead_letters(world)] == ["queued"]
    assert len(target.received) == 3
