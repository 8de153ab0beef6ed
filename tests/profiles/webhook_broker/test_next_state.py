"""Seed 004: pull consumers of the old contract take one job at a time through its states."""

import pytest
from werkzeug.test import TestResponse

from tests.profiles.world import World
from tests.support.calls import code_of, get, path_of

CHANNEL, CONSUMER = "order-events", "payment-service"
TOKENS = {"X-Broker-Channel-Token": "channel-token", "X-Broker-Consumer-Token": f"{CONSUMER}-token"}


@pytest.fixture
def job_id(world: World) -> str:
    world.channel(CHANNEL)
    world.pull(CHANNEL, CONSUMER)
    (made,) = world.publish(CHANNEL, b"{}")
    return made


def step(world: World, job_id: str, state: str, **fields: object) -> TestResponse:
    path = path_of("channel", CHANNEL, "consumer", CONSUMER, "job", job_id)
    return world.client.post(path, json={"NextState": state, **fields}, headers=TOKENS)


def walk(world: World, job_id: str, *states: str) -> str:
    """Take accepted steps; gives the status at the end."""
    for state in states:
        assert step(world, job_id, state).status_code == 202
    return str(world.job(job_id)["status"])


def test_queued_jobs_lists_what_can_be_taken(world: World, job_id: str) -> None:
    path = path_of("channel", CHANNEL, "consumer", CONSUMER, "queued-jobs")
    (listed,) = get(world.client, path)["result"]
    assert (listed["id"], listed["priority"], listed["incrementalTimeout"]) == (job_id, 0, 0)
    assert listed["message"]["payload"] == "{}"
    walk(world, job_id, "INFLIGHT")
    assert get(world.client, path)["result"] == []


def test_queued_to_inflight_to_delivered(world: World, job_id: str) -> None:
    assert walk(world, job_id, "INFLIGHT") == "INFLIGHT"
    assert walk(world, job_id, "DELIVERED") == "DELIVERED"
    assert world.job(job_id)["outcome"] == "ok"


def test_dead_by_the_consumer_is_rejected_and_kept(world: World, job_id: str) -> None:
    assert walk(world, job_id, "INFLIGHT", "DEAD") == "DEAD"
    shown = world.job(job_id)
    assert (shown["deadReason"], shown["error"]["type"]) == ("REJECTED", "REJECTED")
    assert shown["jobRequeueUrl"] is not None
    world.deliver(after=86_400)
    assert world.job(job_id)["status"] == "DEAD"


def test_dead_to_inflight_starts_over(world: World, job_id: str) -> None:
    assert walk(world, job_id, "INFLIGHT", "DEAD", "INFLIGHT", "DELIVERED") == "DELIVERED"
    assert world.jobs(CHANNEL, CONSUMER, "dead") == []


@pytest.mark.parametrize(
    ("before", "refused"),
    [((), "DELIVERED"), ((), "DEAD"), (("INFLIGHT", "DELIVERED"), "INFLIGHT"), (("INFLIGHT", "DELIVERED"), "DEAD"),
     (("INFLIGHT", "DEAD"), "DELIVERED")],
)  # fmt: skip
def test_a_step_that_is_not_allowed_is_400(world: World, job_id: str, before: tuple[str, ...], refused: str) -> None:
    walk(world, job_id, *before)
    standing = world.job(job_id)["status"]
    assert code_of(step(world, job_id, refused)) == (400, "invalid-request")
    assert world.job(job_id)["status"] == standing


@pytest.mark.parametrize("states", [("INFLIGHT",), ("INFLIGHT", "DELIVERED"), ("INFLIGHT", "DEAD")])
def test_the_same_state_is_202_and_no_change(world: World, job_id: str, states: tuple[str, ...]) -> None:
    walk(world, job_id, *states)
    before = world.job(job_id)
    assert step(world, job_id, states[-1]).status_code == 202
    assert world.job(job_id) == before


def test_incremental_timeout_gives_more_time(world: World, job_id: str) -> None:
    answer = step(world, job_id, "INFLIGHT", IncrementalTimeout=600)
    assert answer.status_code == 202
    world.deliver(after=600)
    assert walk(world, job_id, "DELIVERED") == "DELIVERED"


def test_work_that_is_never_answered_comes_back_and_is_dead_in_the_end(world: World, job_id: str) -> None:
    for made in range(4):
        assert world.job(job_id)["retryAttemptCount"] == made
        walk(world, job_id, "INFLIGHT")
        world.deliver(after=61)
        world.pass_time(3600)
    shown = world.job(job_id)
    assert (shown["status"], shown["deadReason"]) == ("DEAD", "RETRIES_EXHAUSTED")
    assert (shown["error"]["type"], shown["error"]["category"]) == ("LEASE_EXPIRED", "NETWORK")


def test_a_push_consumer_cannot_be_pulled(world: World, job_id: str) -> None:
    world.push(CHANNEL, "pushed")
    path = path_of("channel", CHANNEL, "consumer", "pushed", "queued-jobs")
    headers = {**TOKENS, "X-Broker-Consumer-Token": "pushed-token"}
    assert code_of(world.client.get(path, headers=headers))[0] == 412


@pytest.mark.parametrize("missing", list(TOKENS))
def test_requires_channel_and_consumer_token(world: World, job_id: str, missing: str) -> None:
    path = path_of("channel", CHANNEL, "consumer", CONSUMER, "job", job_id)
    headers = {**TOKENS, missing: "wrong"}
    assert world.client.post(path, json={"NextState": "INFLIGHT"}, headers=headers).status_code == 403
    assert world.job(job_id)["status"] == "QUEUED"
