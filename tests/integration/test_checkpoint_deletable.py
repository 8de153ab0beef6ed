"""Which dead may be deleted: those with no retry left by the limit that applied when they died."""

import pytest

from broker.domain.dead_selection import DeadAct
from broker.domain.errors import NotFound
from broker.operations.dead_jobs import delete_dead_job
from tests.support.brokers import Broker
from tests.support.deaths import act_on_all, checkpoint, consumer_of, die
from tests.support.jobs import make_jobs
from tests.support.pull import Puller, puller
from tests.support.rows import count
from tests.support.truth import assert_exact


def exhausted(client: Puller) -> str:
    """A job that has used up its only retry."""
    (job_id,) = make_jobs(client.broker.client, 1)
    for expected in ("retrying", "dead"):
        token, _ = client.take()
        assert client.answer("retry", token, job_id) == [expected]
    return job_id


def rejected(client: Puller) -> str:
    """A job whose consumer called it dead at the first attempt."""
    (job_id,) = make_jobs(client.broker.client, 1)
    token, _ = client.take()
    assert client.answer("retry", token, job_id, dead=True) == ["dead"]
    return job_id


@pytest.mark.parametrize("all_of_them", [True, False])
def test_a_job_is_deletable_though_max_retries_were_raised_after_its_death(broker: Broker, all_of_them: bool) -> None:
    client = puller(broker, maxRetries=1, retryPolicy="immediate")
    job_id = exhausted(client)
    checkpoint(broker)
    client.configure(maxRetries=9)
    delete(broker, job_id, all_of_them)


@pytest.mark.parametrize("all_of_them", [True, False])
def test_a_job_that_its_consumer_rejected_at_the_first_attempt_is_deletable(broker: Broker, all_of_them: bool) -> None:
    delete(broker, rejected(puller(broker)), all_of_them)


def test_a_job_that_an_operator_killed_is_deleted_only_with_force(broker: Broker) -> None:
    puller(broker)
    (job_id,) = die(broker, 1)
    checkpoint(broker)
    with pytest.raises(NotFound, match="force"):
        delete_dead_job(broker.parts, consumer_of(broker.parts), job_id, "test")
    kept = act_on_all(broker.parts, DeadAct.DELETE)
    assert (kept.done, kept.skipped, assert_exact(broker.parts)) == (0, 1, 1)
    delete_dead_job(broker.parts, consumer_of(broker.parts), job_id, "test", force=True)
    assert (assert_exact(broker.parts), count(broker, "job")) == (0, 0)


def test_of_many_only_the_killed_are_left_and_those_go_with_force(broker: Broker) -> None:
    client = puller(broker, maxRetries=1, retryPolicy="immediate")
    exhausted(client), rejected(client)
    checkpoint(broker)
    exhausted(client), die(broker, 2)
    kept = act_on_all(broker.parts, DeadAct.DELETE)
    assert (kept.done, kept.skipped, assert_exact(broker.parts)) == (3, 2, 2)
    assert act_on_all(broker.parts, DeadAct.DELETE, force=True).done == 2
    assert assert_exact(broker.parts) == 0


def delete(broker: Broker, job_id: str, all_of_them: bool) -> None:
    if all_of_them:
        assert act_on_all(broker.parts, DeadAct.DELETE).done == 1
    else:
        delete_dead_job(broker.parts, consumer_of(broker.parts), job_id, "test")
    assert (assert_exact(broker.parts), count(broker, "job")) == (0, 0)
