"""Checkpoints that are killed between any two of their statements, with and without a backlog."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest

from broker.dlq.checkpointer import LOCK_SECONDS, Checkpointer, Outcome
from tests.failures.injection import Killed, killed_after
from tests.support.brokers import Broker
from tests.support.deaths import SETTLED, die, die_many, second_instance
from tests.support.jobs import act
from tests.support.rows import execute, value
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

EXPIRED = timedelta(seconds=LOCK_SECONDS + 1)


@pytest.fixture
def victim(broker: Broker) -> Iterator[Broker]:
    """The instance that is killed; its clock is that of the other."""
    for made in second_instance(broker):
        register(made.client, consumers=("consumer", "other"))
        made.parts.clock.offset = broker.clock.offset
        yield made


def test_a_checkpoint_killed_after_any_statement_leaves_the_summary_exact(broker: Broker, victim: Broker) -> None:
    dead = 0
    for place in count(0, 2 if broker.parts.database.is_sqlite else 1):
        act(broker.client, "retry", *die(broker, 2)[:1])
        dead += 3
        victim.clock.offset = broker.clock.offset = broker.clock.offset + SETTLED
        with killed_after(victim.parts, place) as injection, suppress(Killed):
            Checkpointer(victim.parts).run(force=True)
        assert assert_exact(broker.parts) == dead
        victim.clock.offset = broker.clock.offset = broker.clock.offset + EXPIRED
        assert Checkpointer(broker.parts).run(force=True).outcome is Outcome.DONE
        assert assert_exact(broker.parts) == dead == value(broker, "SELECT SUM(dead_count) FROM dlq_summary")
        if not injection.done:
            break
    assert place > 20
    assert audit(broker.parts).good


@pytest.mark.parametrize("empty", [True, False])
def test_a_backlog_counted_in_steps_goes_on_after_a_crash_in_any_of_them(
    broker: Broker, victim: Broker, empty: bool
) -> None:
    for _ in range(6):
        die_many(broker, 10)
    if empty:
        execute(broker, "DELETE FROM dlq_summary")
    counted = [0]
    for place in count(30, 9):
        victim.clock.offset = broker.clock.offset = broker.clock.offset + EXPIRED
        with killed_after(victim.parts, place) as injection, suppress(Killed):
            Checkpointer(victim.parts, at_once=20).run(force=True)
        assert assert_exact(broker.parts) == 120
        counted.append(value(broker, "SELECT SUM(dead_count) FROM dlq_summary"))
        if not injection.done:
            break
    assert counted == sorted(counted)
    assert len(set(counted)) > 3
    assert counted[-1] == 120
    assert audit(broker.parts).good
