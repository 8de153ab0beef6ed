"""A consumer's limits are never exceeded, by one process or by several of an instance."""

from collections.abc import Iterator, Sequence

import pytest

from broker.delivery.engine import Engine
from broker.delivery.outlets import Share
from tests.support.brokers import wait_until
from tests.support.pushing import Pushing
from tests.support.target import Answer

DELAY, LIMIT, JOBS = 0.05, 3, 60
SLACK = 0.005  # the target's own clock ticks before it answers


def most_at_once(arrivals: Sequence[float], seconds: float) -> int:
    """How many came within so many seconds at most."""
    times = sorted(arrivals)
    return max(sum(begun <= one < begun + seconds for one in times) for begun in times)


def arrivals(pushing: Pushing) -> list[float]:
    return [one.arrived for one in pushing.target.received]


@pytest.fixture
def two(pushing: Pushing) -> Iterator[tuple[Engine, Engine]]:
    """Two processes of one instance, as the supervisor would start them."""
    made = (
        Engine(pushing.broker.parts, "first", Share(0, 2)),
        Engine(pushing.broker.parts, "second", Share(1, 2)),
    )
    yield made
    for engine in made:
        engine.drain()


@pytest.mark.parametrize("limit", [1, LIMIT, 20])
def test_a_consumers_concurrency_is_used_and_never_exceeded(pushing: Pushing, limit: int) -> None:
    pushing.consumer(consumerConcurrency=limit)
    pushing.target.rule = lambda _: Answer(delay=DELAY)
    pushing.publish(min(JOBS, 20 * limit))
    pushing.hand.deliver()
    assert pushing.came() == min(JOBS, 20 * limit)
    assert most_at_once(arrivals(pushing), DELAY - SLACK) == limit


def test_processes_of_an_instance_share_a_consumers_concurrency(pushing: Pushing, two: tuple[Engine, Engine]) -> None:
    pushing.consumer(consumerConcurrency=LIMIT)
    pushing.target.rule = lambda _: Answer(delay=DELAY)
    pushing.publish(JOBS)

    def both_step() -> bool:
        for engine in two:
            engine.step(0.001)
        return pushing.came() == JOBS

    wait_until(both_step, 20)
    assert most_at_once(arrivals(pushing), DELAY - SLACK) == LIMIT


def test_a_consumers_rate_is_kept_evenly(pushing: Pushing) -> None:
    """Fifty a second: sixty take more than a second, and no tenth of a second has more than its share and a burst."""
    pushing.consumer(consumerRate=50)
    pushing.publish(JOBS)
    pushing.until(lambda: pushing.came() == JOBS)
    times = arrivals(pushing)
    assert 1.1 < max(times) - min(times) < 3
    assert most_at_once(times, 0.1) <= 5 + 3 + 1


def test_a_rate_of_one_consumer_does_not_slow_another(pushing: Pushing) -> None:
    pushing.consumer(consumerRate=1)
    pushing.lonely("free")
    pushing.publish(5)
    pushing.publish(100, "free")
    assert pushing.until(lambda: pushing.came("/free/free") == 100) < 3
    assert 1 <= pushing.came() <= 4


def test_each_consumer_of_a_channel_has_its_own_concurrency(pushing: Pushing) -> None:
    pushing.consumer(consumerConcurrency=2)
    pushing.consumer("other", consumerConcurrency=5)
    pushing.target.rule = lambda _: Answer(delay=DELAY)
    pushing.publish(40)
    pushing.hand.deliver()
    for path, limit in (("/channel/consumer", 2), ("/channel/other", 5)):
        times = [one.arrived for one in pushing.target.received if one.path == path]
        assert (len(times), most_at_once(times, DELAY - SLACK)) == (40, limit)
