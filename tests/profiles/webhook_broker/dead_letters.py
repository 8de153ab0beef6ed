"""The seed's own example: a payment service, and how its jobs die."""

from typing import Any

from werkzeug.test import TestResponse

from tests.profiles.world import World
from tests.support.calls import get, path_of

CHANNEL, CONSUMER = "order-events", "payment-service"
TOKENS = {"X-Broker-Channel-Token": "channel-token", "X-Broker-Consumer-Token": f"{CONSUMER}-token"}


def place(*below: str) -> str:
    """Something of the payment service's."""
    return path_of("channel", CHANNEL, "consumer", CONSUMER, *below)


def die(world: World, count: int) -> list[str]:
    """So many jobs are taken and found to be unprocessable; gives their ids."""
    ids = [job for _ in range(count) for job in world.publish(CHANNEL)]
    for job_id in ids:
        for state in ("INFLIGHT", "DEAD"):
            answer = world.client.post(place("job", job_id), json={"NextState": state}, headers=TOKENS)
            assert answer.status_code == 202, answer.text
    return ids


def status(world: World) -> Any:
    """The payment service's entry in /dlq-status."""
    (found,) = get(world.client, f"/dlq-status?channel={CHANNEL}&consumer={CONSUMER}")["consumers"]
    return found


def requeue(world: World, job_id: str) -> TestResponse:
    """Requeue one."""
    return world.client.post(place("job", job_id, "requeue-dead-job"), headers=TOKENS)


def requeue_all(world: World) -> TestResponse:
    """Requeue all, as existing clients do it."""
    channel = {"X-Broker-Channel-Token": TOKENS["X-Broker-Channel-Token"]}
    return world.client.post(place("dlq"), data={"requeue": f"{CONSUMER}-token"}, headers=channel)


def delete(world: World, *below: str) -> TestResponse:
    """Delete all (`dlq`) or one (`job`, its id)."""
    return world.client.delete(place(*below), headers=TOKENS)
