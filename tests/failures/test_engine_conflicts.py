"""A deadlock, a lock time-out or a lost connection at every single step of the engine: none lost, no attempt burnt."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from itertools import count

import pytest

from tests.failures.injection import DEADLOCK, LOCK_TIMEOUT, Injection, at_commit, at_statement
from tests.failures.jobs import attempts
from tests.support.brokers import Broker, make_broker
from tests.support.calls import put, send_batch
from tests.support.engines import Hand
from tests.support.rows import rows
from tests.support.target import Answer, Target
from tests.support.walk import register

LEASE = timedelta(seconds=61)
RULES = {
    "delivered": {},
    "dead": {"maxRetries": 1, "retryPolicy": "immediate"},
    "moved": {"maxRetries": 0, "deadLetterMode": "move"},
    "discarded": {"maxRetries": 0, "deadLetterMode": "discard"},
}
TRIES = {"delivered": 1, "dead": 2, "moved": 1, "discarded": 1}
ENDS = Counter({"/delivered DELIVERED 0": 2, "/dead DEAD 1": 2, "dead-letters QUEUED 0": 2})
STATES = """
SELECT COALESCE(c.callbackUrl, c.consumerId) AS place, j.status, j.retryAttemptCount AS retries
FROM job j JOIN consumer c ON c.id = j.consumerId
"""
NAMES = {1001: "QUEUED", 1002: "INFLIGHT", 1003: "DELIVERED", 1004: "DEAD"}
_numbers = count()


@pytest.fixture
def world(server_url: str, target: Target) -> Iterator[tuple[Broker, Hand, Target]]:
    broker = make_broker(server_url, breaker_threshold=0)
    register(broker.client, consumers=())
    put(broker.client, "/channel/graves")
    for name, settings in RULES.items():
        dead = {"deadChannel": "graves"} if name == "moved" else {}
        put(broker.client, f"/channel/channel/consumer/{name}", callbackUrl=target.url(f"/{name}"), **settings, **dead)
    target.rule = lambda request: Answer(200 if request.path == "/delivered" else 500, body=b"always")
    hand = Hand(broker)
    yield broker, hand, target
    hand.close()
    broker.parts.database.dispose()


@pytest.mark.parametrize("error", [DEADLOCK, LOCK_TIMEOUT])
def test_a_conflict_at_any_statement_loses_nothing_and_burns_nothing(
    world: tuple[Broker, Hand, Target], error: int
) -> None:
    places = disturb(world, lambda place: at_statement(place, error))
    assert places > 20


@pytest.mark.parametrize("before", [True, False])
def test_a_connection_lost_in_any_commit_loses_nothing_and_burns_nothing(
    world: tuple[Broker, Hand, Target], before: bool
) -> None:
    places = disturb(world, lambda place: at_commit(place, before))
    assert places > 5


def disturb(world: tuple[Broker, Hand, Target], way: Callable[[int], AbstractContextManager[Injection]]) -> int:
    """The same work again and again, each time disturbed one step later, until the disturbance comes too late."""
    for place in count():
        with way(place) as injection:
            run(*world)
        check(*world)
        if not injection.done:
            return place
    raise AssertionError("it never ends")


def run(broker: Broker, hand: Hand, target: Target) -> None:
    """Two messages to each; what an unknown commit may have leased comes back when the lease ends."""
    send_batch(broker.client, *[{"messageId": f"m{next(_numbers)}", "payload": "x"} for _ in range(2)])
    hand.deliver()
    for _ in range(2):
        broker.clock.advance(LEASE)
        hand.deliver()


def check(broker: Broker, hand: Hand, target: Target) -> None:
    """Everything ended as it must, after exactly as many attempts as it must; then the slate is wiped."""
    found = Counter(f"{_short(row['place'])} {NAMES[row['status']]} {row['retries']}" for row in rows(broker, STATES))
    assert found == ENDS
    assert rows(broker, "SELECT token FROM lease") == []
    made = {
        key: Counter(one.path.strip("/") for one in tries) for key, tries in attempts(list(target.received)).items()
    }
    assert len(made) == 2 and all(tries == TRIES for tries in made.values()), made
    target.received.clear()
    broker.parts.database.write("wipe", _wipe)


def _wipe(connection: object) -> None:
    for table in ("job_event", "job_origin", "job"):
        connection.exec_driver_sql(f"DELETE FROM {table}")  # type: ignore[attr-defined]


def _short(place: str) -> str:
    return "/" + place.rsplit("/", 1)[1] if "/" in place else place
