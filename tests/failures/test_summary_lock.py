"""The lock of the checkpoint: never taken over before its end, always after it, and whoever lost it changes nothing."""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker.dlq.checkpointer import LOCK_SECONDS, Checkpointer, Outcome
from broker.operations.dlq_status import LOCK, read_health
from broker.operations.locking import LockLost, NamedLock
from broker.store import locks
from broker.store.engine import WRITES
from tests.failures.injection import at_commit
from tests.support.brokers import Broker, make_broker, wait_until
from tests.support.jobs import act, make_jobs
from tests.support.keeper import Keeper
from tests.support.rows import everything, value
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

JUST_BEFORE, JUST_AFTER = timedelta(seconds=LOCK_SECONDS - 15), timedelta(seconds=16)
BETWEEN, INSIDE = ("FOR UPDATE", 2), ("SET last_checked_at", 1)


@pytest.fixture
def mourning(server_url: str) -> Iterator[Broker]:
    """Three have died, and none is counted; their deaths are long settled."""
    broker = make_broker(server_url)
    broker.clock.advance(timedelta(minutes=-5))
    register(broker.client)
    act(broker.client, "fail", *make_jobs(broker.client, 3))
    broker.clock.offset = timedelta(0)
    yield broker
    broker.parts.database.dispose()


def test_a_holder_that_is_killed_keeps_the_lock_to_its_end_and_not_longer(mourning: Broker) -> None:
    checkpointer = Checkpointer(mourning.parts)
    Keeper(server_url_of(mourning), *INSIDE).kill()
    mourning.clock.offset = JUST_BEFORE
    assert checkpointer.run(force=True).outcome is Outcome.BUSY
    assert assert_exact(mourning.parts) == 3
    mourning.clock.advance(JUST_AFTER)
    assert checkpointer.run(force=True).counted == 3
    assert assert_exact(mourning.parts) == 3


def test_a_holder_that_slept_past_its_end_changes_nothing_when_it_wakes(mourning: Broker) -> None:
    keeper = Keeper(server_url_of(mourning), *BETWEEN)
    mourning.clock.offset = JUST_BEFORE
    assert Checkpointer(mourning.parts).run(force=True).outcome is Outcome.BUSY
    mourning.clock.advance(JUST_AFTER)
    assert Checkpointer(mourning.parts).run(force=True).counted == 3
    before = everything(mourning)
    assert keeper.wake() == "LOST"
    assert everything(mourning) == before
    assert assert_exact(mourning.parts) == 3


def test_a_holder_that_sleeps_in_the_middle_of_a_transaction_is_ended_by_the_server(mourning: Broker) -> None:
    keeper = Keeper(server_url_of(mourning), *INSIDE)
    mourning.clock.offset = JUST_BEFORE + JUST_AFTER
    wait_until(lambda: Checkpointer(mourning.parts).run(force=True).counted == 3, 40)
    before = everything(mourning)
    assert keeper.wake() == "LOST"
    assert everything(mourning) == before
    assert assert_exact(mourning.parts) == 3
    assert audit(mourning.parts).good


def test_whether_the_lock_is_held_is_answered_at_once_while_its_holder_works(mourning: Broker) -> None:
    lock = NamedLock(mourning.parts, LOCK, LOCK_SECONDS)
    assert lock.acquire()
    with mourning.parts.database.engine.connect().execution_options(**WRITES) as working, working.begin():
        lock.require(working)
        began = time.monotonic()
        assert Checkpointer(mourning.parts).run(force=True).outcome is Outcome.BUSY
        assert time.monotonic() - began < 1
    lock.release()


@pytest.mark.parametrize("before", [True, False])
def test_a_lock_whose_commit_had_no_answer_is_held_all_the_same(mourning: Broker, before: bool) -> None:
    lock = NamedLock(mourning.parts, LOCK, LOCK_SECONDS)
    with at_commit(0, before) as injection:
        assert lock.acquire()
    assert injection.done
    lock.release()
    assert read_health(mourning.parts).holder is None
    assert Checkpointer(mourning.parts).run(force=True).outcome is Outcome.DONE


def test_a_stranger_neither_renews_nor_releases_nor_works_under_it(broker: Broker) -> None:
    mine, stranger = (NamedLock(broker.parts, LOCK, LOCK_SECONDS) for _ in range(2))
    assert mine.acquire() and not stranger.acquire()
    before = value(broker, "SELECT expiresAt FROM `lock`")
    with pytest.raises(LockLost):
        stranger.renew()
    stranger.release()
    with pytest.raises(LockLost):
        broker.parts.database.write("test", stranger.require)
    assert value(broker, "SELECT expiresAt FROM `lock`") == before
    broker.clock.advance(timedelta(seconds=LOCK_SECONDS / 2))
    mine.renew()
    assert value(broker, "SELECT expiresAt FROM `lock`") > before
    broker.clock.advance(timedelta(seconds=LOCK_SECONDS - 1))
    assert not stranger.acquire()
    broker.clock.advance(timedelta(seconds=2))
    assert stranger.acquire()
    with pytest.raises(LockLost):
        mine.renew()
    mine.release()
    found = broker.parts.database.read("test", lambda c: locks.holder(c, LOCK))
    assert found is not None and found.owner == stranger.owner


def server_url_of(broker: Broker) -> str:
    return broker.parts.database.engine.url.render_as_string(hide_password=False)
