"""Several instances on one database: no attempt too many, none too few, none too early."""

from itertools import pairwise

import pytest

from tests.failures.jobs import attempts, publish_many, push_consumer, statuses
from tests.support.brokers import make_broker, wait_until
from tests.support.engines import StartEngine
from tests.support.rows import rows
from tests.support.target import Answer, Received, Target

MESSAGES, RETRIES, DELAY = 2000, 5, 1.0
LONGEST_SECONDS = 150


@pytest.mark.alone
@pytest.mark.parametrize("instances", [2, 3])
def test_each_of_2000_failing_messages_is_tried_exactly_six_times_and_never_too_early(
    server_url: str, start_engine: StartEngine, target: Target, instances: int
) -> None:
    broker = make_broker(server_url)
    schedule = {"retryPolicy": "schedule", "retrySchedule": [DELAY] * RETRIES}
    rules = {**schedule, "maxRetries": RETRIES, "breakerThreshold": 0}
    push_consumer(broker, target, **rules)
    target.rule = lambda request: Answer(500, body=b"always")
    messages = publish_many(broker, MESSAGES)
    engines = [start_engine(server_url) for _ in range(instances)]
    wait_until(lambda: statuses(broker)["DEAD"] == MESSAGES, LONGEST_SECONDS, lambda: f"it came to {statuses(broker)}")
    assert [engine.stop() for engine in engines] == [0] * instances
    made = attempts(target.received)
    assert made.keys() == set(messages)
    assert {key: numbers(tries) for key, tries in made.items() if numbers(tries) != list(range(1, RETRIES + 2))} == {}
    assert min(shortest_gap(tries) for tries in made.values()) >= DELAY
    told = rows(broker, "SELECT DISTINCT deadReason, retryAttemptCount, appliedMaxRetries FROM job")
    assert [list(row.values()) for row in told] == [["RETRIES_EXHAUSTED", RETRIES, RETRIES]]
    broker.parts.database.dispose()


def numbers(tries: list[Received]) -> list[int]:
    return [int(one.headers["x-broker-attempt"]) for one in tries]


def shortest_gap(tries: list[Received]) -> float:
    return min(later.arrived - earlier.arrived for earlier, later in pairwise(tries))
