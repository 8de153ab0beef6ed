"""Instances are killed every second and the database is restarted, while a target fails and hangs: nothing is lost."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from broker.domain.states import JobStatus
from tests.failures.jobs import attempts, publish_many, push_consumer, statuses
from tests.support.brokers import Broker, make_broker, wait_until
from tests.support.engines import LiveEngine, StartEngine
from tests.support.killable import KillableServer
from tests.support.rows import rows
from tests.support.target import Answer, Received, Target
from tests.support.walk import PUBLISHER

SECONDS, INSTANCES, RESTARTS_AT = 60, 3, (20, 40)
FIRST, EACH_SECOND = 1000, 40
FAILING, HANGING = 0.10, 0.01
RULES = {
    "retryPolicy": "fixed",
    "retryBase": 0.5,
    "maxRetries": 2,
    "deliveryTimeout": 2,
    "connectTimeout": 2,
    "lease": 1,
    "breakerThreshold": 0,
}


@pytest.mark.alone
@pytest.mark.timeout(400)
def test_a_minute_of_kills_and_restarts_loses_nothing(
    durable_server: KillableServer, durable_url: str, start_engine: StartEngine, target: Target
) -> None:
    broker = make_broker(durable_url)
    push_consumer(broker, target, **RULES)
    accepted: set[str] = set()
    target.rule = unreliable(random.Random(7), accepted)
    messages = publish_many(broker, FIRST)
    engines = [start_engine(durable_url) for _ in range(INSTANCES)]
    with publishing(broker, messages):
        kills = storm(durable_server, engines)
    wait_until(lambda: settled(broker, len(messages)), 120, lambda: f"it came to {statuses(broker)}")
    assert [engine.stop() for engine in engines] == [0] * INSTANCES
    duplicates = check(broker, target, messages, accepted)
    print(f"{len(messages)} messages, {kills} kills, {statuses(broker)}, {duplicates} attempts made twice")


def storm(server: KillableServer, engines: list[LiveEngine]) -> int:
    """Kill a random instance every second; restart the database twice."""
    chance, begun = random.Random(11), time.monotonic()
    for second in range(SECONDS):
        victim = chance.choice(engines)
        victim.kill()
        if second in RESTARTS_AT:
            server.restart()
        victim.start()
        time.sleep(max(0.0, begun + second + 1 - time.monotonic()))
    return SECONDS


@contextmanager
def publishing(broker: Broker, messages: list[str]) -> Iterator[None]:
    """Publish on and on in a thread; what was not answered while the database was away is sent again."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(1.0):
            publish_until_done(broker, messages)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    over.set()
    thread.join()


def publish_until_done(broker: Broker, messages: list[str]) -> None:
    ids = [f"later-{len(messages) + number}" for number in range(EACH_SECOND)]
    items = [{"messageId": one, "payload": one} for one in ids]
    for _ in range(60):
        answer = broker.client.post("/channel/channel/broadcast-batch", json={"messages": items}, headers=PUBLISHER)
        if answer.status_code == 200:
            messages += ids
            return
        time.sleep(0.5)
    raise AssertionError("publishing never succeeded again")


def unreliable(chance: random.Random, accepted: set[str]) -> Callable[[Received], Answer]:
    """Fails and hangs by chance; what it takes is remembered."""

    def rule(request: Received) -> Answer:
        drawn = chance.random()
        if drawn < HANGING:
            return Answer(hang=True)
        if drawn < HANGING + FAILING:
            return Answer(503, body=b"not now")
        accepted.add(request.headers["x-broker-message-id"])
        return Answer(200)

    return rule


def settled(broker: Broker, count: int) -> bool:
    found = statuses(broker)
    return found["DELIVERED"] + found["DEAD"] == count == sum(found.values())


def check(broker: Broker, target: Target, messages: list[str], accepted: set[str]) -> int:
    """Every message was taken by the target or is dead with its reason; gives how many attempts were made twice."""
    made = attempts(target.received)
    joined = "SELECT m.messageId, j.status, j.deadReason FROM job j JOIN message m ON m.id = j.messageId"
    found = {row["messageId"]: (row["status"], row["deadReason"]) for row in rows(broker, joined)}
    assert set(messages) == found.keys() == made.keys()
    assert {one for one, (status, _) in found.items() if status == JobStatus.DELIVERED} <= accepted
    assert set(found.values()) <= {(JobStatus.DELIVERED, None), (JobStatus.DEAD, "RETRIES_EXHAUSTED")}
    assert rows(broker, "SELECT token FROM lease") == []
    return sum(len(tries) - len({one.headers["x-broker-attempt"] for one in tries}) for tries in made.values())
