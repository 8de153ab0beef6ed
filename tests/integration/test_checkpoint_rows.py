"""Which rows a checkpoint moves on: all of them, those that came and went meanwhile, and those that were lost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from broker.dlq.auditor import Auditor
from broker.dlq.checkpointer import LONG_TAIL, Checkpointer, Outcome
from broker.operations.dlq_status import read_status
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import put
from tests.support.deaths import SETTLED, checkpoint, die, die_many, second_instance
from tests.support.gates import gate_before
from tests.support.jobs import act
from tests.support.rows import count, execute, rows, value
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

THREE = ("consumer", "other", "third")
STANDS = "SELECT last_checked_at FROM dlq_summary ORDER BY consumerId"


@pytest.fixture
def second(broker: Broker) -> Iterator[Broker]:
    """Another instance."""
    yield from second_instance(broker)


def test_two_instances_that_bootstrap_an_empty_table_at_once_count_everyone_once(
    broker: Broker, second: Broker
) -> None:
    register(broker.client, consumers=THREE)
    die(broker, 4)
    broker.clock.advance(SETTLED)
    second.clock.offset = broker.clock.offset
    for _ in range(3):
        execute(broker, "DELETE FROM dlq_summary")
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda one: Checkpointer(one.parts).run(), (broker, second)))
        assert Outcome.DONE in {one.outcome for one in done}
        assert sum(one.counted for one in done) == 12
        assert assert_exact(broker.parts) == 12
        assert audit(broker.parts).good


def test_a_quiet_interval_moves_every_row_on_also_where_nothing_died(broker: Broker) -> None:
    register(broker.client, consumers=THREE)
    register(broker.client, "quiet")
    die(broker, 1)
    seen = [value(broker, "SELECT MAX(last_checked_at) FROM dlq_summary")]
    for counted in (3, 0, 0):
        broker.clock.advance(timedelta(seconds=631))
        assert Checkpointer(broker.parts).run().counted == counted
        (stands,) = {row["last_checked_at"] for row in rows(broker, STANDS)}
        seen.append(stands)
        assert Checkpointer(broker.parts).run().outcome is Outcome.FRESH
    assert len(rows(broker, STANDS)) == 4
    assert seen == sorted(set(seen))
    assert assert_exact(broker.parts) == 3


def test_a_consumer_that_is_deleted_while_it_is_counted_takes_its_dead_along(broker: Broker, second: Broker) -> None:
    register(broker.client, consumers=THREE)
    die(broker, 2)
    broker.clock.advance(SETTLED)
    path = "/channel/channel/consumer/other?force=true"
    with gate_before(broker.parts, "SET last_checked_at") as counting, ThreadPoolExecutor(1) as pool:
        running = counting.start(lambda: Checkpointer(broker.parts).run(force=True))
        gone = pool.submit(lambda: second.client.delete(path, headers=ADMIN))
        counting.open()
        assert running.result().counted == 6
        assert gone.result().status_code == 204
    assert assert_exact(broker.parts) == 4
    assert (count(broker, "dlq_summary"), count(broker, "dlq_history")) == (2, 2)
    assert audit(broker.parts).good


def test_the_row_with_the_newest_checkpoint_may_be_lost(broker: Broker) -> None:
    register(broker.client, consumers=THREE)
    die(broker, 2)
    checkpoint(broker)
    newest = value(broker, "SELECT MAX(consumerId) FROM dlq_summary")
    execute(broker, "UPDATE dlq_summary SET dead_count = 7, last_checked_at = '2199-01-01' WHERE consumerId = :key",
            key=newest)  # fmt: skip
    execute(broker, "DELETE FROM dlq_summary WHERE consumerId = :key", key=newest)
    assert Checkpointer(broker.parts).due_in() == 0
    assert Checkpointer(broker.parts).run().counted == 2
    assert assert_exact(broker.parts) == 6
    assert audit(broker.parts).good


def test_names_that_were_changed_are_refreshed(broker: Broker) -> None:
    register(broker.client)
    put(broker.client, "/channel/channel", name="Orders")
    put(broker.client, "/channel/channel/consumer/consumer", name="Billing")
    checkpoint(broker)
    (row,) = rows(broker, "SELECT channelId, channelName, consumerName FROM dlq_summary")
    assert dict(row) == {"channelId": "channel", "channelName": "Orders", "consumerName": "Billing"}
    (shown,) = read_status(broker.parts)
    assert (shown.place.channel_name, shown.place.consumer_name) == ("Orders", "Billing")


def test_a_long_tail_brings_the_next_run_forward(broker: Broker) -> None:
    register(broker.client)
    checkpoint(broker)
    die_many(broker, LONG_TAIL - 1)
    broker.clock.advance(SETTLED)
    assert Checkpointer(broker.parts).run().outcome is Outcome.FRESH
    die_many(broker, 1)
    assert Checkpointer(broker.parts).run().outcome is Outcome.FRESH
    broker.clock.advance(SETTLED)
    assert Checkpointer(broker.parts).run().counted == LONG_TAIL
    assert assert_exact(broker.parts) == LONG_TAIL


def test_two_audits_that_are_the_first_ever_do_not_hinder_each_other(broker: Broker, second: Broker) -> None:
    register(broker.client)
    act(broker.client, "retry", *die(broker, 1))
    for _ in range(3):
        execute(broker, "DELETE FROM dlq_run")
        with ThreadPoolExecutor(2) as pool:
            assert all(one.good for one in pool.map(lambda one: Auditor(one.parts, 0).run(), (broker, second)))
    assert value(broker, "SELECT COUNT(*) FROM dlq_run WHERE name = 'dlq-audit'") == 1
