"""Conflicts at every step of what the engine does beside delivering: lost leases, ended lives, pauses, giving back."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count

import pytest

from broker.delivery.claims import Batch, Claims
from broker.delivery.desk import Desk
from broker.delivery.engine import Engine
from broker.delivery.outlets import Moment, Share
from broker.delivery.pace import Pace
from broker.delivery.telemetry import Silence
from broker.delivery.turns import Turns
from tests.failures.injection import DEADLOCK, LOCK_TIMEOUT, Injection, at_statement
from tests.support.brokers import Broker, make_broker
from tests.support.calls import put, send_batch
from tests.support.engines import Hand
from tests.support.rows import execute, rows, value
from tests.support.states import take
from tests.support.target import Answer, Target
from tests.support.walk import register

JOBS = 3
LARGE = "x" * 20_000  # read when it is sent
ANSWERS = {"/gone": Answer(410), "/told": Answer(200, {"X-Broker-Result": "failed"})}
STATES = """
SELECT c.consumerId, j.status, j.retryAttemptCount AS retries, j.deadReason FROM job j
JOIN consumer c ON c.id = j.consumerId
"""
ENDS = Counter(
    {
        ("lost", 1003, 0, None): JOBS,
        ("told", 1003, 0, None): JOBS,
        ("gone", 1004, 0, "NON_RETRYABLE"): JOBS,
        ("pulled", 1001, 1, None): JOBS,
        ("expired", 1004, 0, "EXPIRED"): JOBS,
    }
)
HISTORY = Counter({"lease-lost": JOBS, "answered-failed": JOBS, "failed": 3 * JOBS, "died": 2 * JOBS})
Place = tuple[Broker, Target]
errors = pytest.mark.parametrize("error", [DEADLOCK, LOCK_TIMEOUT])


@pytest.fixture
def place(server_url: str, target: Target) -> Iterator[Place]:
    broker = make_broker(server_url, breaker_threshold=0)
    register(broker.client, consumers=("pulled", "expired"))
    target.rule = lambda request: ANSWERS.get(request.path, Answer())
    yield broker, target
    broker.parts.database.dispose()


def disturbed(error: int, prepare: Callable[[], None], work: Callable[[], None], check: Callable[[], None]) -> int:
    """The same work again and again, each time disturbed one statement later; gives how many statements it has."""
    for number in count():
        prepare()
        with at_statement(number, error) as injection:
            work()
        check()
        if _came_too_late(injection):
            return number
    raise AssertionError("it never ends")


def _came_too_late(injection: Injection) -> bool:
    return not injection.done


def wipe(broker: Broker) -> None:
    for table in ("job_event", "job_expiry", "job"):
        execute(broker, f"DELETE FROM {table}")


@errors
def test_what_nobody_holds_any_more_is_taken_up_once_whatever_is_in_the_way(place: Place, error: int) -> None:
    broker, target = place
    put(broker.client, "/channel/channel/consumer/pulled", type="pull", maxRetries=1, retryPolicy="fixed")
    put(broker.client, "/channel/channel/consumer/expired", type="pull", expireAfter=10)
    hand = Hand(broker)

    def prepare() -> None:
        for name in ("lost", "told", "gone"):
            put(broker.client, f"/channel/channel/consumer/{name}", callbackUrl=target.url(f"/{name}"), paused=False)
        send_batch(broker.client, *[{"payload": LARGE}] * JOBS)
        for name in ("lost", "pulled"):
            ids = "SELECT j.id FROM job j JOIN consumer c ON c.id = j.consumerId WHERE c.consumerId = :name"
            take(broker, *(row["id"] for row in rows(broker, ids, name=name)), seconds=5)
        broker.clock.advance(timedelta(seconds=11))

    def check() -> None:
        found = Counter(tuple(row.values()) for row in rows(broker, STATES))
        assert found == ENDS
        told = Counter(row["event"] for row in rows(broker, "SELECT event FROM job_event"))
        assert told == HISTORY
        assert rows(broker, "SELECT token FROM lease") == rows(broker, "SELECT jobId FROM job_expiry") == []
        came = Counter((one.path, one.headers["x-broker-attempt"]) for one in target.received)
        assert came == {("/lost", "1"): JOBS, ("/told", "1"): JOBS, ("/gone", "1"): JOBS}
        target.received.clear()
        wipe(broker)

    assert disturbed(error, prepare, hand.deliver, check) > 25
    hand.close()


@errors
def test_leases_are_renewed_and_given_back_whatever_is_in_the_way(place: Place, error: int) -> None:
    broker, target = place
    put(broker.client, "/channel/channel/consumer/lost", callbackUrl=target.url("/lost"))
    engine = Engine(broker.parts, "looks", Share())
    engine.step(0)
    held: list[Batch] = []

    def prepare() -> None:
        send_batch(broker.client, *[{"payload": "x"}] * JOBS)
        held.append(claim(broker, engine))

    def work() -> None:
        desk = Desk(broker.parts, Silence())
        desk.opened(held[-1], 0.0)
        desk.renew(held[-1].seconds)
        assert value(broker, "SELECT COUNT(*) FROM lease WHERE expiresAt > NOW(6)") == 1
        desk.give_back([(held[-1].token, one.id) for one in held[-1].jobs])

    def check() -> None:
        mine: Counter[object] = Counter(
            tuple(row.values()) for row in rows(broker, STATES) if row["consumerId"] == "lost"
        )
        assert mine == {("lost", 1001, 0, None): JOBS}
        assert rows(broker, "SELECT token FROM lease") == []
        wipe(broker)

    assert disturbed(error, prepare, work, check) >= 4
    engine.drain()
    assert list(target.received) == []


def claim(broker: Broker, engine: Engine) -> Batch:
    """What an engine claims; nothing of it is sent."""
    claims, outlets = Claims(broker.parts, "o", Pace(Turns(Share()))), engine._directory.outlets
    claims.take(claims.scan(broker.clock.seconds()) or [], outlets)
    batch = claims.claim(Moment(broker.clock.seconds(), free=256), outlets, JOBS)
    assert batch is not None and len(batch.jobs) == JOBS
    return batch
