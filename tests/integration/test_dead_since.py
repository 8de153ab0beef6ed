"""Since when the longest dead is dead: exact, though the search starts where bulk work has cleared to."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from broker.dlq.checkpointer import Checkpointer
from broker.domain.dead_selection import DeadAct, DeadFilter, OperationState
from broker.operations import bulk
from broker.operations.dlq_status import read_status
from broker.store import consumers
from broker.store.tables import dlq_summary
from tests.support import rows
from tests.support.brokers import Broker, make_broker
from tests.support.jobs import make_jobs
from tests.support.states import die
from tests.support.walk import register

BURSTS, EACH, CHUNK = 6, 40, 100
ALL = DeadFilter()


@dataclass(frozen=True)
class Dead:
    """Bursts of counted dead, a minute apart; a chunk ends in the middle of the third."""

    broker: Broker
    ids: list[str]
    moments: list[datetime]

    def act(self, kind: DeadAct, wanted: DeadFilter) -> int:
        """Do it to all that are meant; gives how many were."""
        consumer = self.broker.parts.database.read("test", lambda c: consumers.find(c, "channel", "consumer"))
        assert consumer is not None
        operation = bulk.start(self.broker.parts, consumer, kind, wanted, "me")
        ended = bulk.run(self.broker.parts, operation.id, 60.0)
        assert ended.state is OperationState.DONE
        return ended.done

    @property
    def oldest(self) -> datetime | None:
        """What /dlq-status says."""
        (one,) = read_status(self.broker.parts, "channel", "consumer")
        return one.oldest_dead_at

    @property
    def cleared_to(self) -> datetime | None:
        """Where the search starts."""
        return self.broker.parts.database.read("test", lambda c: c.execute(select(dlq_summary.c.cleared_to)).scalar())

    def count(self) -> None:
        """A checkpoint of all that died so far."""
        self.broker.clock.advance(timedelta(minutes=2))
        Checkpointer(self.broker.parts).run(force=True)


@pytest.fixture
def dead(database_url: str) -> Iterator[Dead]:
    """All of them counted by a checkpoint."""
    broker = make_broker(database_url, dlq_chunk=CHUNK)
    register(broker.client)
    ids = make_jobs(broker.client, BURSTS * EACH)
    broker.clock.advance(timedelta(minutes=BURSTS))
    moments = [broker.clock.now() - timedelta(minutes=BURSTS - 1 - number) for number in range(BURSTS)]
    for number, moment in enumerate(moments):
        die(broker, *ids[number * EACH : (number + 1) * EACH], at=moment)
    made = Dead(broker, ids, moments)
    made.count()
    yield made
    broker.parts.database.dispose()


def test_after_a_purge_it_is_the_first_that_was_left_and_after_all_are_gone_the_next_to_die(dead: Dead) -> None:
    assert (dead.oldest, dead.cleared_to) == (dead.moments[0], None)
    assert dead.act(DeadAct.DELETE, DeadFilter(died_before=dead.moments[2])) == 3 * EACH
    assert (dead.oldest, dead.cleared_to) == (dead.moments[3], dead.moments[2])
    assert dead.act(DeadAct.ARCHIVE, ALL) == 3 * EACH
    assert (dead.oldest, dead.cleared_to) == (None, dead.moments[5])
    (late,) = make_jobs(dead.broker.client, 1)
    now = dead.broker.clock.now()
    die(dead.broker, late, at=now)
    assert dead.oldest == now


def test_one_that_may_not_be_deleted_is_not_passed_over(dead: Dead) -> None:
    kept = dead.ids[EACH]
    rows.execute(dead.broker, f"UPDATE job SET deadReason = 'FORCED', retryAttemptCount = 0 WHERE id = '{kept}'")
    assert dead.act(DeadAct.DELETE, ALL) == BURSTS * EACH - 1
    assert dead.oldest == dead.moments[1]
    assert dead.cleared_to is None or dead.cleared_to <= dead.moments[1]


def test_those_before_a_selection_are_not_passed_over(dead: Dead) -> None:
    assert dead.act(DeadAct.REQUEUE, DeadFilter(died_after=dead.moments[1])) == (BURSTS - 1) * EACH
    assert (dead.oldest, dead.cleared_to) == (dead.moments[0], None)


def test_where_no_checkpoint_has_counted_others_may_still_die_so_nothing_is_cleared(dead: Dead) -> None:
    assert dead.act(DeadAct.DELETE, ALL) == BURSTS * EACH
    first, second = make_jobs(dead.broker.client, 2)
    die(dead.broker, first)
    assert dead.act(DeadAct.DELETE, ALL) == 1
    assert dead.cleared_to == dead.moments[-1]
    late = dead.broker.clock.now() - timedelta(seconds=5)
    die(dead.broker, second, at=late)
    dead.count()
    assert dead.oldest == late
