"""Deaths and take-backs whose commits come late, or beside a checkpoint: nothing is missed, nothing counted twice."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from broker.dlq.checkpointer import LOCK_SECONDS, Checkpointer, Outcome, take_step
from broker.domain.errors import Unavailable
from broker.operations.dead_jobs import requeue_dead_job
from broker.operations.dlq_status import LOCK
from broker.operations.locking import NamedLock
from broker.store.summary import TICK
from tests.support.brokers import Broker, make_broker
from tests.support.deaths import checkpoint, consumer_of, die, second_instance
from tests.support.gates import gate_before
from tests.support.jobs import act, make_jobs
from tests.support.states import checked_at, row, totals
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

WRITTEN, DYING, COUNTED = "job_event", "SET status = 1004", "SET last_checked_at"
SHORT = timedelta(seconds=0.2)


@pytest.fixture
def pair(server_url: str) -> Iterator[tuple[Broker, Broker]]:
    """Two instances on the server with the shortest of settle times, and a consumer."""
    first = make_broker(server_url, dlq_settle=0.1)
    register(first.client)
    for second in second_instance(first, dlq_settle=0.1):
        yield first, second
    first.parts.database.dispose()


def test_a_late_commit_held_open_longer_than_the_settle_time_is_waited_for(pair: tuple[Broker, Broker]) -> None:
    worker, keeper = pair
    ids, before = make_jobs(worker.client, 3), checked_at(worker)
    with gate_before(worker.parts, WRITTEN) as late:
        dead = late.start(lambda: act(worker.client, "fail", *ids))
        keeper.clock.advance(SHORT)
        with pytest.raises(Unavailable):
            Checkpointer(keeper.parts).run(force=True)
        assert checked_at(keeper) == before
        late.open()
        assert dead.result()["done"] == 3
    assert Checkpointer(keeper.parts).run(force=True).counted == 3
    assert assert_exact(worker.parts) == 3


def test_a_writer_that_stalls_between_stamp_and_write_is_not_missed(pair: tuple[Broker, Broker]) -> None:
    worker, keeper = pair
    ids = make_jobs(worker.client, 3)
    with gate_before(worker.parts, DYING) as stalled:
        dead = stalled.start(lambda: act(worker.client, "fail", *ids))
        keeper.clock.advance(SHORT)
        assert Checkpointer(keeper.parts).run(force=True).counted == 0
        stalled.open()
        assert dead.result()["done"] == 3
    assert row(worker, ids[0])["deadAt"] > checked_at(keeper)
    assert assert_exact(worker.parts) == 3
    keeper.clock.advance(SHORT)
    assert Checkpointer(keeper.parts).run(force=True).counted == 3
    assert assert_exact(worker.parts) == 3


def test_a_death_in_the_same_microsecond_as_the_watermark_is_counted_once(broker: Broker) -> None:
    register(broker.client)
    (first,), lock = die(broker, 1), NamedLock(broker.parts, LOCK, LOCK_SECONDS)
    watermark = row(broker, first)["deadAt"]
    assert lock.acquire()

    def step(at: datetime) -> int:
        return broker.parts.database.write("test", lambda c: take_step(c, lock, at)).counted

    assert (step(watermark - TICK), step(watermark), step(watermark), step(watermark + TICK)) == (0, 1, 0, 0)
    broker.clock.advance(timedelta(minutes=-5))
    (second,) = die(broker, 1)
    assert row(broker, second)["deadAt"] == row(broker, second)["statusChangedAt"] == watermark + 2 * TICK
    assert assert_exact(broker.parts) == 2
    assert (step(watermark + TICK), step(watermark + 2 * TICK), step(watermark + 3 * TICK)) == (0, 1, 0)
    assert assert_exact(broker.parts) == 2


def test_die_and_requeue_between_checkpoints_is_never_counted(broker: Broker) -> None:
    register(broker.client)
    for turn in range(1, 4):
        ids = die(broker, 2)
        act(broker.client, "retry", *ids)
        assert checkpoint(broker).counted == 0
        assert totals(broker) == (0, 2 * turn, 2 * turn, 0)
        assert assert_exact(broker.parts) == 0
    assert audit(broker.parts).good


def test_leave_and_return_is_counted_anew(broker: Broker) -> None:
    register(broker.client)
    ids = die(broker, 2)
    for turn in range(1, 4):
        assert checkpoint(broker).counted == (2 if turn == 1 else 1)
        act(broker.client, "retry", ids[0])
        assert assert_exact(broker.parts) == 1
        act(broker.client, "fail", ids[0])
        assert assert_exact(broker.parts) == 2
    assert totals(broker) == (1, 5 - 1, 3, 0)
    assert audit(broker.parts).good


@pytest.mark.parametrize("counted", [True, False])
def test_a_requeue_racing_a_checkpoint_comes_before_or_after_it(pair: tuple[Broker, Broker], counted: bool) -> None:
    worker, keeper = pair
    ids = die(worker, 2)
    consumer = consumer_of(worker.parts)
    keeper.clock.advance(SHORT)
    with gate_before(keeper.parts, COUNTED) as counting, gate_before(worker.parts, "FROM job FORCE") as leaving:
        if counted:
            running = counting.start(lambda: Checkpointer(keeper.parts).run(force=True))
            leaving.open()
            leaving.start_only(lambda: requeue_dead_job(worker.parts, consumer, ids[0], "test"))
            counting.open()
        else:
            counting.open()
            leaving.start(lambda: requeue_dead_job(worker.parts, consumer, ids[0], "test"))
            running = counting.start_only(lambda: Checkpointer(keeper.parts).run(force=True))
            leaving.open()
        assert running.result() and running.result().outcome is Outcome.DONE
    assert assert_exact(worker.parts) == 1
    assert totals(worker) == (1, 2, 1, 0)
