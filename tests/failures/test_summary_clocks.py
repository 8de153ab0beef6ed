"""Clocks that differ, step back or stand still between two statements: no death is missed, none counted twice."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker.dlq.checkpointer import Checkpointer, Outcome
from tests.support.brokers import Broker, make_broker
from tests.support.gates import gate_before
from tests.support.jobs import act, make_jobs
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

HOUR = timedelta(hours=1)
COUNTED = "SET last_checked_at"
DYING = "SET status = 1004"


@pytest.fixture
def ahead(broker: Broker) -> Iterator[Broker]:
    """Another instance, whose clock, and that of its database sessions, is an hour ahead."""
    url = broker.parts.database.engine.url.render_as_string(hide_password=False)
    made = make_broker(url, upgrade=False)
    made.clock.advance(HOUR)
    yield made
    made.parts.database.dispose()


@pytest.fixture
def pair(server_url: str) -> Iterator[tuple[Broker, Broker]]:
    """Two instances on the server."""
    made = make_broker(server_url), make_broker(server_url, upgrade=False)
    yield made
    for broker in made:
        broker.parts.database.dispose()


def test_instance_clocks_an_hour_apart_with_deaths_and_checkpoints_from_both(broker: Broker, ahead: Broker) -> None:
    register(broker.client, consumers=("consumer", "other"))
    ids = make_jobs(broker.client, 30)
    for turn in range(6):
        here, there = (broker, ahead) if turn % 2 else (ahead, broker)
        act(here.client, "fail", *ids[turn * 10 : turn * 10 + 10])
        assert Checkpointer(there.parts).run(force=True).outcome is Outcome.DONE
        assert_exact(here.parts)
        act(there.client, "retry", *ids[turn * 10 : turn * 10 + 3])
        assert_exact(there.parts)
    assert assert_exact(broker.parts) == 60 - 6 * 3
    assert audit(broker.parts).good and audit(ahead.parts).good


def test_a_death_by_the_slow_clock_while_the_fast_clock_checkpoints(pair: tuple[Broker, Broker]) -> None:
    slow, fast = pair
    fast.clock.advance(HOUR)
    register(slow.client)
    ids = make_jobs(slow.client, 4)
    with gate_before(slow.parts, DYING) as dying, gate_before(fast.parts, COUNTED) as counting:
        dead = dying.start(lambda: act(slow.client, "fail", *ids))
        counted = counting.start(lambda: Checkpointer(fast.parts).run(force=True))
        dying.open()
        assert dead.result()["done"] == 4
        counting.open()
        assert counted.result().outcome is Outcome.DONE
    assert assert_exact(slow.parts) == 4
    assert Checkpointer(fast.parts).run(force=True).outcome is Outcome.DONE
    assert assert_exact(slow.parts) == 4


def test_a_death_after_the_database_clock_stepped_back_in_the_middle_of_a_checkpoint(
    pair: tuple[Broker, Broker],
) -> None:
    worker, keeper = pair
    register(worker.client)
    ids = make_jobs(worker.client, 4)
    assert Checkpointer(keeper.parts).run(force=True).outcome is Outcome.DONE
    for both in pair:
        both.clock.advance(HOUR)
    with gate_before(worker.parts, DYING) as dying, gate_before(keeper.parts, COUNTED) as counting:
        counted = counting.start(lambda: Checkpointer(keeper.parts).run(force=True))
        for both in pair:
            both.clock.advance(-HOUR / 2)
        dead = dying.start(lambda: act(worker.client, "fail", *ids))
        dying.open()
        assert dead.result()["done"] == 4
        counting.open()
        assert counted.result().outcome is Outcome.DONE
    assert assert_exact(worker.parts) == 4


def test_the_database_clock_steps_back(broker: Broker) -> None:
    register(broker.client)
    ids = make_jobs(broker.client, 6)
    checkpointer = Checkpointer(broker.parts)
    broker.clock.advance(HOUR)
    act(broker.client, "fail", *ids[:2])
    broker.clock.advance(timedelta(minutes=1))
    assert checkpointer.run().counted == 2
    broker.clock.advance(-HOUR)
    act(broker.client, "fail", *ids[2:])
    assert assert_exact(broker.parts) == 6
    assert checkpointer.run(force=True).counted == 0
    act(broker.client, "retry", ids[0], ids[2])
    assert assert_exact(broker.parts) == 4
    broker.clock.advance(HOUR)
    assert checkpointer.run(force=True).counted == 3
    assert assert_exact(broker.parts) == 4
    assert audit(broker.parts).good
