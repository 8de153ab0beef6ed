"""Seed 004: what a consumer gets pushed, and when a pushed job is dead."""

import pytest
from standardwebhooks.webhooks import Webhook

from tests.profiles.world import World, attempts, delay_of, events, paths
from tests.support.calls import get
from tests.support.target import Answer, Target

CHANNEL, CONSUMER = "order-events", "payment-service"
CONTRACT = {
    "content-type": "application/json",
    "x-broker-message-id": "order-1",
    "x-broker-message-priority": "7",
    "x-broker-channel-id": CHANNEL,
    "x-broker-consumer-id": CONSUMER,
    "x-broker-consumer-token": f"{CONSUMER}-token",
    "x-broker-metadata-headers": "X-Tenant",
    "x-tenant": "acme",
    "x-broker-attempt": "1",
    "x-broker-hop-count": "3",
}
PUBLISHED = {
    "Content_Type": "application/json",
    "X_Broker_Message_ID": "order-1",
    "X_Broker_Message_Priority": "7",
    "X_Broker_Metadata_Headers": "X-Tenant",
    "X_Tenant": "acme",
    "X_Broker_Hop_Count": "2",
}


def test_each_push_carries_the_headers_of_the_contract(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER)
    (job_id,) = world.publish(CHANNEL, b'{"order": 1}', **PUBLISHED)
    world.deliver()
    (push,) = target.received
    assert (push.method, push.path, push.body) == ("POST", f"/{CONSUMER}", b'{"order": 1}')
    assert {name: push.headers.get(name) for name in CONTRACT} == CONTRACT
    assert push.headers["x-broker-job-id"] == push.headers["webhook-id"] == job_id
    assert push.headers["user-agent"].startswith("broker/")


def test_a_push_is_signed_as_standard_webhooks_says(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    secret = world.push(CHANNEL, CONSUMER)["signingSecret"]
    world.publish(CHANNEL, b'{"order": 1}')
    world.deliver()
    (push,) = target.received
    assert Webhook(secret).verify(push.body, dict(push.headers)) == {"order": 1}


def test_each_attempt_has_a_fresh_request_id_and_the_next_attempt_number(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER)
    world.fails_with(503)
    world.publish(CHANNEL)
    world.deliver()
    world.deliver(after=60)
    assert attempts(target) == ["1", "2"]
    assert len({one.headers["x-request-id"] for one in target.received}) == 2
    assert len({one.headers["webhook-id"] for one in target.received}) == 1


def test_every_consumer_of_the_channel_gets_one_job_per_message(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    for name in (CONSUMER, "audit"):
        world.push(CHANNEL, name)
    ids = world.publish(CHANNEL)
    world.deliver()
    assert sorted(paths(target.received)) == ["/audit", f"/{CONSUMER}"]
    assert [world.job(one)["status"] for one in ids] == ["DELIVERED", "DELIVERED"]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_2xx_is_delivered(world: World, status: int) -> None:
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER)
    world.fails_with(status)
    (job_id,) = world.publish(CHANNEL)
    world.deliver()
    shown = world.job(job_id)
    assert (shown["status"], shown["outcome"], shown["jobRequeueUrl"]) == ("DELIVERED", "ok", None)


def test_a_job_is_dead_when_its_retries_are_exhausted(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER)
    world.fails_with(500, b"boom")
    (job_id,) = world.publish(CHANNEL)
    for delay in (0, 60, 120, 240):
        world.deliver(after=delay)
    shown = world.job(job_id)
    assert attempts(target) == ["1", "2", "3", "4"]
    assert (shown["status"], shown["deadReason"]) == ("DEAD", "RETRIES_EXHAUSTED")
    assert (shown["retryAttemptCount"], shown["appliedMaxRetries"]) == (3, 3)
    assert shown["error"]["type"] == "HTTP_500" and "boom" in shown["error"]["text"]
    assert events(shown) == ["failed"] * 4 + ["died"]
    world.deliver(after=86_400)
    assert len(target.received) == 4


def test_a_dead_job_says_where_it_can_be_requeued(world: World) -> None:
    world.channel(CHANNEL, name="Order Events")
    world.push(CHANNEL, CONSUMER, name="Payment Service")
    world.fails_with(400)
    (job_id,) = world.publish(CHANNEL)
    world.deliver()
    place = f"/channel/{CHANNEL}/consumer/{CONSUMER}"
    shown = get(world.client, f"{place}/job/{job_id}")
    assert shown["jobRequeueUrl"] == f"{place}/job/{job_id}/requeue-dead-job"
    assert (shown["status"], shown["listenerName"]) == ("DEAD", "Payment Service")
    assert shown["consumerUrl"] == place
    assert [one["id"] for one in world.jobs(CHANNEL, CONSUMER, "dead")] == [job_id]


def test_a_dead_consumer_does_not_hold_up_another(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    for name in (CONSUMER, "audit"):
        world.push(CHANNEL, name)
    target.rule = lambda request: Answer(503 if request.path == "/audit" else 200)
    for _ in range(10):
        world.publish(CHANNEL)
    world.deliver()
    assert len(world.jobs(CHANNEL, CONSUMER, "delivered")) == 10
    assert world.jobs(CHANNEL, "audit", "delivered") == []


def test_redirects_are_not_followed(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER)
    world.fails_with(307, Location=target.url("/elsewhere"))
    (job_id,) = world.publish(CHANNEL)
    world.deliver()
    assert paths(target.received) == [f"/{CONSUMER}"]
    assert world.job(job_id)["error"]["type"] == "HTTP_307"


def test_retry_after_raises_the_delay(world: World) -> None:
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER)
    world.fails_with(429, Retry_After="900")
    (job_id,) = world.publish(CHANNEL)
    world.deliver()
    assert delay_of(world.job(job_id)) == 900


def test_410_pauses_the_consumer_and_says_so(world: World, target: Target) -> None:
    world.channel(CHANNEL)
    world.push(CHANNEL, CONSUMER)
    world.fails_with(410)
    (job_id,) = world.publish(CHANNEL)
    world.deliver()
    assert (world.job(job_id)["status"], world.job(job_id)["error"]["category"]) == ("DEAD", "PERMANENT")
    assert get(world.client, f"/channel/{CHANNEL}/consumer/{CONSUMER}")["paused"] is True
    world.publish(CHANNEL)
    world.deliver(after=3600)
    assert len(target.received) == 1
