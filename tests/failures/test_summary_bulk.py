"""Bulk acts on the dead: killed, taken up by another process, cancelled, repeated; every chunk is exact by itself."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker.domain.dead_selection import DeadAct, DeadFilter, OperationState
from broker.operations import bulk
from tests.failures.injection import Killed, killed_after
from tests.support.brokers import Broker, make_broker
from tests.support.bulk_worker import CHUNK, BulkWorker
from tests.support.calls import put
from tests.support.deaths import SETTLED, act_on_all, checkpoint, consumer_of, die, die_many, second_instance
from tests.support.rows import count, rows, value
from tests.support.states import come_from
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

TAKEN_OVER = timedelta(seconds=bulk.LOCK_SECONDS + 1)
GONE = (
    "SELECT requeued_total + deleted_total + archived_total + moved_total FROM dlq_summary ORDER BY consumerId LIMIT 1"
)


@pytest.fixture
def mourning(database_url: str) -> Iterator[Broker]:
    """450 dead, most of them counted, in chunks of 100; its clock is half a minute behind that of other processes."""
    broker = make_broker(database_url, dlq_chunk=CHUNK)
    broker.clock.advance(-2 * SETTLED)
    register(broker.client)
    put(broker.client, "/channel/graves")
    put(broker.client, "/channel/channel/consumer/consumer", deadChannel="graves")
    die_many(broker, 320)
    checkpoint(broker)
    die_many(broker, 130)
    yield broker
    broker.parts.database.dispose()


def start(broker: Broker, act: DeadAct) -> str:
    return bulk.start(broker.parts, consumer_of(broker.parts), act, DeadFilter(), "test").id


@pytest.mark.parametrize("act", DeadAct)
def test_an_act_that_is_killed_is_gone_on_with_by_another_process(mourning: Broker, act: DeadAct) -> None:
    url, started = mourning.parts.database.engine.url.render_as_string(hide_password=False), start(mourning, act)
    BulkWorker(url, started).kill_after(1 if act is DeadAct.MOVE else 2)
    done = bulk.get_operation(mourning.parts, started).done
    assert 0 < done <= 450
    assert assert_exact(mourning.parts) == 450 - done
    assert bulk.run(mourning.parts, started, 60).done == done
    mourning.clock.advance(SETTLED + TAKEN_OVER)
    ended = bulk.run(mourning.parts, started, 60)
    assert (ended.state, ended.done, ended.skipped) == (OperationState.DONE, 450, 0)
    assert (assert_exact(mourning.parts), value(mourning, GONE)) == (0, 450)
    checkpoint(mourning)
    assert assert_exact(mourning.parts) == 0
    assert audit(mourning.parts).good


@pytest.mark.parametrize("act", [DeadAct.REQUEUE, DeadAct.DELETE])
def test_an_act_that_is_killed_between_any_two_statements_of_a_chunk_is_exact(mourning: Broker, act: DeadAct) -> None:
    started = start(mourning, act)
    for victim in second_instance(mourning, dlq_chunk=CHUNK):
        for place in range(2, 24, 3):
            victim.clock.offset = mourning.clock.offset = mourning.clock.offset + TAKEN_OVER
            with killed_after(victim.parts, place) as injection, pytest.raises(Killed):
                bulk.run(victim.parts, started, 60)
            assert injection.done
            assert assert_exact(mourning.parts) == 450 - bulk.get_operation(mourning.parts, started).done
    mourning.clock.advance(TAKEN_OVER)
    assert bulk.run(mourning.parts, started, 60).done == 450
    assert assert_exact(mourning.parts) == 0


def test_an_act_that_is_cancelled_in_the_middle_stops_after_its_chunk(mourning: Broker) -> None:
    started = start(mourning, DeadAct.REQUEUE)

    def cancel(done: int) -> None:
        if done >= 2 * CHUNK:
            bulk.cancel(mourning.parts, started)

    ended = bulk.run(mourning.parts, started, 60, cancel)
    assert (ended.state, ended.done) == (OperationState.CANCELLED, 2 * CHUNK)
    assert assert_exact(mourning.parts) == 450 - 2 * CHUNK
    assert bulk.run(mourning.parts, started, 60) == ended
    assert bulk.unfinished(mourning.parts) == []
    assert audit(mourning.parts).good


def test_an_act_takes_only_those_that_were_dead_when_it_was_asked_for(mourning: Broker) -> None:
    started = start(mourning, DeadAct.DELETE)
    mourning.clock.advance(timedelta(seconds=1))
    die_many(mourning, 5)
    assert bulk.run(mourning.parts, started, 60).done == 450
    assert assert_exact(mourning.parts) == 5


def test_an_act_also_takes_those_whose_stamps_are_ahead_of_a_clock_that_stepped_back(mourning: Broker) -> None:
    mourning.clock.advance(timedelta(hours=-1))
    die(mourning, 3)
    ended = act_on_all(mourning.parts, DeadAct.ARCHIVE)
    assert (ended.done, assert_exact(mourning.parts)) == (453, 0)


def test_nothing_of_the_deleted_is_left(mourning: Broker) -> None:
    for number, one in enumerate(rows(mourning, "SELECT id FROM job ORDER BY id LIMIT 3")):
        come_from(mourning, one["id"], f"{number:020d}")
    assert count(mourning, "job_origin") == 3
    assert act_on_all(mourning.parts, DeadAct.DELETE).done == 450
    assert {table: count(mourning, table) for table in ("job", "job_event", "job_origin")} == {
        "job": 0, "job_event": 0, "job_origin": 0,
    }  # fmt: skip
