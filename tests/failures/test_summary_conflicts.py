"""A deadlock or a lock time-out at every statement of whatever changes the summary: done all the same, and once."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count

import pytest

from broker.dlq.checkpointer import Checkpointer, Outcome
from broker.domain.dead_selection import DeadAct
from broker.operations.dead_jobs import delete_dead_job, requeue_dead_job
from tests.failures.injection import DEADLOCK, LOCK_TIMEOUT, Injection, at_commit, at_statement
from tests.support.brokers import Broker, make_broker
from tests.support.calls import put
from tests.support.deaths import SETTLED, act_on_all, checkpoint, consumer_of
from tests.support.jobs import act, make_jobs
from tests.support.pull import Puller
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

Change = Callable[[Broker, str], int]
JOBS = 200


@pytest.fixture
def broker(server_url: str) -> Iterator[Broker]:
    """On the server, with a channel that takes the moved."""
    made = make_broker(server_url)
    register(made.client)
    put(made.client, "/channel/graves")
    put(made.client, "/channel/channel/consumer/consumer", deadChannel="graves")
    yield made
    made.parts.database.dispose()


def count_all(broker: Broker, job_id: str) -> int:
    broker.clock.advance(SETTLED)
    assert Checkpointer(broker.parts).run(force=True).outcome is Outcome.DONE
    return 0


def recount(broker: Broker, job_id: str) -> int:
    assert audit(broker.parts).good
    return 0


def requeue(broker: Broker, job_id: str) -> int:
    requeue_dead_job(broker.parts, consumer_of(broker.parts), job_id, "test")
    return 1


def delete(broker: Broker, job_id: str) -> int:
    delete_dead_job(broker.parts, consumer_of(broker.parts), job_id, "test", force=True)
    return 1


def take_up(broker: Broker, job_id: str) -> int:
    assert Puller(broker).step(job_id, "INFLIGHT") == 202
    return 1


def all_of_them(what: DeadAct) -> Change:
    return lambda broker, job_id: act_on_all(broker.parts, what, force=True).done


CHANGES: dict[str, Change] = {
    "checkpoint": count_all,
    "audit": recount,
    "requeue": requeue,
    "delete": delete,
    "take up": take_up,
    **{f"{what.value} all": all_of_them(what) for what in DeadAct},
}


@pytest.mark.parametrize("error", [DEADLOCK, LOCK_TIMEOUT])
@pytest.mark.parametrize("name", CHANGES)
def test_a_conflict_at_any_statement_changes_nothing_but_the_time_it_takes(
    broker: Broker, name: str, error: int
) -> None:
    places = disturb(broker, name, lambda place: at_statement(place, error))
    assert places > 4


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("name", ["checkpoint", "audit", "take up", "requeue all", "delete all", "move all"])
def test_a_commit_without_an_answer_is_repeated_without_harm(broker: Broker, name: str, before: bool) -> None:
    places = disturb(broker, name, lambda place: at_commit(place, before))
    assert places > 0


def disturb(broker: Broker, name: str, way: Callable[[int], AbstractContextManager[Injection]]) -> int:
    """The same again and again, each time disturbed one step later, until the disturbance comes too late."""
    jobs = make_jobs(broker.client, JOBS)
    for place in count():
        counted, uncounted = jobs.pop(), jobs.pop()
        act(broker.client, "fail", counted)
        checkpoint(broker)
        act(broker.client, "fail", uncounted)
        before = assert_exact(broker.parts)
        with way(place) as injection:
            gone = CHANGES[name](broker, counted if place % 2 else uncounted)
        assert gone == before or not name.endswith("all")
        assert assert_exact(broker.parts) == before - gone
        if not injection.done:
            break
    assert audit(broker.parts).good
    return place
