"""Seed 004: the summary table, its lock, its interval and its bootstrap, sentence by sentence."""

from dataclasses import replace
from datetime import timedelta

import pytest

from broker.dlq.checkpointer import Checkpointer, Outcome
from broker.operations.dlq_status import LOCK
from broker.operations.locking import NamedLock
from tests.profiles.webhook_broker.dead_letters import CHANNEL, CONSUMER, die, requeue, requeue_all, status
from tests.profiles.world import World
from tests.support.calls import parsed
from tests.support.rows import rows, value
from tests.support.statements import statements

INTERVAL, SETTLE = 600, 30


@pytest.fixture
def checkpointer(world: World) -> Checkpointer:
    world.channel(CHANNEL, name="Order Events")
    world.pull(CHANNEL, CONSUMER, name="Payment Service")
    return Checkpointer(world.broker.parts)


def later(world: World) -> None:
    """The next time that the checkpointer wakes up."""
    world.pass_time(INTERVAL + SETTLE + 1)


def test_stores_precomputed_dead_counts_per_consumer_with_names(world: World, checkpointer: Checkpointer) -> None:
    die(world, 3)
    later(world)
    assert checkpointer.run().outcome is Outcome.DONE
    (row,) = rows(world.broker, "SELECT * FROM dlq_summary")
    assert (row["dead_count"], row["channelId"], row["channelName"]) == (3, CHANNEL, "Order Events")
    assert row["consumerName"] == "Payment Service"


def test_another_instance_that_holds_the_lock_makes_this_one_skip(world: World, checkpointer: Checkpointer) -> None:
    die(world, 1)
    later(world)
    other = NamedLock(world.broker.parts, LOCK, 60)
    assert other.acquire()
    assert checkpointer.run().outcome is Outcome.BUSY
    assert value(world.broker, "SELECT dead_count FROM dlq_summary") == 0
    other.release()
    assert checkpointer.run().outcome is Outcome.DONE
    assert value(world.broker, "SELECT dead_count FROM dlq_summary") == 1


def test_release_lock_deletes_the_lock_row(world: World, checkpointer: Checkpointer) -> None:
    later(world)
    assert checkpointer.run().outcome is Outcome.DONE
    assert value(world.broker, "SELECT COUNT(*) FROM `lock`") == 0


def test_wakes_up_every_configurable_interval_by_default_ten_minutes(world: World, checkpointer: Checkpointer) -> None:
    assert world.broker.parts.settings.dlq_summary_interval == INTERVAL
    later(world)
    assert checkpointer.run().outcome is Outcome.DONE
    assert checkpointer.due_in() == pytest.approx(INTERVAL, abs=5)
    shorter = replace(world.broker.parts.settings, dlq_summary_interval=5.0)
    assert Checkpointer(replace(world.broker.parts, settings=shorter)).due_in() == pytest.approx(5, abs=5)


def test_a_checkpoint_younger_than_the_interval_is_not_repeated(world: World, checkpointer: Checkpointer) -> None:
    later(world)
    assert checkpointer.run().outcome is Outcome.DONE
    die(world, 1)
    world.pass_time(INTERVAL - 10)
    assert checkpointer.run().outcome is Outcome.FRESH
    world.pass_time(11)
    assert checkpointer.run().counted == 1


def test_only_counts_new_dead_rows_since_the_last_checkpoint(world: World, checkpointer: Checkpointer) -> None:
    die(world, 4)
    later(world)
    assert checkpointer.run().counted == 4
    die(world, 2)
    later(world)
    assert checkpointer.run().counted == 2
    later(world)
    assert checkpointer.run().counted == 0
    assert value(world.broker, "SELECT dead_count FROM dlq_summary") == 6


def test_increments_the_count_and_sets_last_checked_at_for_every_consumer(
    world: World, checkpointer: Checkpointer
) -> None:
    die(world, 1)
    world.pull(CHANNEL, "quiet-service")
    later(world)
    assert checkpointer.run().outcome is Outcome.DONE
    found = rows(world.broker, "SELECT last_checked_at, dead_count FROM dlq_summary ORDER BY consumerId")
    assert [row["dead_count"] for row in found] == [1, 0]
    assert len({row["last_checked_at"] for row in found}) == 1


def test_names_are_populated_from_the_consumer_and_channel_tables(world: World, checkpointer: Checkpointer) -> None:
    world.channel(CHANNEL, name="Renamed Events")
    world.consumer(CHANNEL, CONSUMER, name="Renamed Service")
    later(world)
    assert checkpointer.run().outcome is Outcome.DONE
    (row,) = rows(world.broker, "SELECT channelName, consumerName FROM dlq_summary")
    assert (row["channelName"], row["consumerName"]) == ("Renamed Events", "Renamed Service")


def test_an_empty_table_gets_a_one_time_full_count(world: World, checkpointer: Checkpointer) -> None:
    die(world, 5)
    world.broker.parts.database.write("test", lambda c: c.exec_driver_sql("DELETE FROM dlq_summary"))
    world.pass_time(SETTLE + 1)
    assert checkpointer.run().counted == 5
    assert status(world)["deadCount"] == status(world)["checkpointedCount"] == 5


def test_subsequent_runs_are_incremental(world: World, checkpointer: Checkpointer) -> None:
    die(world, 5)
    world.broker.parts.database.write("test", lambda c: c.exec_driver_sql("DELETE FROM dlq_summary"))
    world.pass_time(SETTLE + 1)
    checkpointer.run()
    die(world, 1)
    later(world)
    assert checkpointer.run().counted == 1


def test_fast_regardless_of_total_table_size(world: World, checkpointer: Checkpointer) -> None:
    """Every count has a lower bound, so that it reads nothing but what died since."""
    die(world, 3)
    later(world)
    with statements(world.broker) as seen:
        checkpointer.run()
    counts = [one for one in seen if "COUNT" in one and "FROM job" in one]
    assert counts
    assert all("deadAt >" in one for one in counts)


def test_deaths_within_the_settle_time_wait_for_the_next_run(world: World, checkpointer: Checkpointer) -> None:
    later(world)
    die(world, 2)
    assert checkpointer.run().counted == 0
    assert status(world)["deadCount"] == 2
    world.broker.clock.advance(timedelta(seconds=INTERVAL + 1))
    assert checkpointer.run().counted == 2


def test_a_consumer_whose_row_is_missing_is_neither_forgotten_nor_counted_wrong(
    world: World, checkpointer: Checkpointer
) -> None:
    ids = die(world, 4)
    world.pass_time(INTERVAL + SETTLE + 1)
    assert checkpointer.run().counted == 4
    world.broker.parts.database.write("test", lambda c: c.exec_driver_sql("DELETE FROM dlq_summary"))
    assert status(world)["deadCount"] == 4
    assert requeue(world, ids[0]).status_code == 202
    assert status(world)["deadCount"] == 3
    assert parsed(requeue_all(world))["requeuedCount"] == 3
    world.pass_time(SETTLE + 1)
    assert checkpointer.run().counted == 0
    assert status(world)["deadCount"] == status(world)["checkpointedCount"] == 0
