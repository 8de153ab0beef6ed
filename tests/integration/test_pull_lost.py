"""Leases that end, are made longer, or were lost before their answer came; and jobs that expire."""

from datetime import timedelta

from broker.domain.times import show_time
from tests.support.brokers import Broker
from tests.support.engines import Hand
from tests.support.jobs import listed, make_jobs
from tests.support.pull import Puller, puller
from tests.support.rows import count


def leased(broker: Broker, **settings: object) -> tuple[Puller, str, str]:
    """A client that holds the only job for a minute."""
    client = puller(broker, **settings)
    make_jobs(broker.client, 1)
    return (client, *client.take(lease=60))


def in_minutes(broker: Broker, minutes: float) -> str:
    return show_time(broker.clock.now() + timedelta(minutes=minutes))


def test_a_lost_lease_is_a_failure_that_is_retried_by_policy(broker: Broker, hand: Hand) -> None:
    client, _, job_id = leased(broker)
    client.pass_time(61)
    hand.deliver()
    job = client.job(job_id)
    assert (job["state"], job["retryAttemptCount"], job["appliedPolicy"]) == ("retrying", 1, "exponential")
    assert (job["error"]["type"], job["error"]["category"]) == ("LEASE_EXPIRED", "NETWORK")
    assert [(one["event"], one["actor"]) for one in job["history"]] == [("failed", "broker")]
    assert count(broker, "lease") == 0


def test_a_job_dies_when_its_last_lease_is_lost_and_not_a_moment_before(broker: Broker, hand: Hand) -> None:
    client, token, job_id = leased(broker, maxRetries=0)
    client.pass_time(58)
    hand.deliver()
    assert client.job(job_id)["state"] == "inflight"
    client.pass_time(3)
    hand.deliver()
    assert client.job(job_id)["deadReason"] == "RETRIES_EXHAUSTED"
    assert client.answer("complete", token, job_id) == ["late"]


def test_a_late_answer_changes_nothing(broker: Broker, hand: Hand) -> None:
    client, token, job_id = leased(broker)
    client.pass_time(61)
    hand.deliver()
    before = client.job(job_id)
    for what in ("complete", "retry", "extend"):
        assert client.answer(what, token, job_id) == ["late"]
    assert client.answer("retry", token, job_id, dead=True) == ["late"]
    assert client.job(job_id) == before


def test_a_late_answer_does_not_touch_the_lease_of_another_client(broker: Broker, hand: Hand) -> None:
    client, token, job_id = leased(broker, retryPolicy="immediate")
    client.pass_time(61)
    hand.deliver()
    another, same = client.take(clientId="another", lease=600)
    before = client.job(job_id)
    for what in ("complete", "retry", "extend"):
        assert client.answer(what, token, job_id) == ["late"]
    assert same == job_id and client.job(job_id) == before
    assert client.answer("complete", another, job_id) == ["delivered"]


def test_until_the_broker_has_taken_a_job_back_its_answer_is_not_too_late(broker: Broker, hand: Hand) -> None:
    client, token, job_id = leased(broker)
    client.pass_time(61)
    assert client.answer("complete", token, job_id) == ["delivered"]
    hand.deliver()
    assert (client.job(job_id)["state"], client.job(job_id)["history"]) == ("delivered", [])


def test_a_client_that_never_answers_gets_its_jobs_back_when_the_lease_ends(broker: Broker, hand: Hand) -> None:
    client = puller(broker, retryPolicy="immediate")
    ids = make_jobs(broker.client, 5)
    assert client.lease(5, lease=1)[1] == ids
    client.pass_time(2)
    hand.deliver()
    assert sorted(client.lease(5)[1]) == sorted(ids)


def test_jobs_that_were_answered_are_not_touched_when_the_others_lease_is_lost(broker: Broker, hand: Hand) -> None:
    client = puller(broker)
    ids = make_jobs(broker.client, 3)
    token, _ = client.lease(3, lease=60)
    client.answer("complete", token, ids[0])
    client.answer("retry", token, ids[1], dead=True)
    client.pass_time(61)
    hand.deliver()
    assert [client.job(one)["state"] for one in ids] == ["delivered", "dead", "retrying"]


def test_an_extended_lease_lasts_over_its_old_end(broker: Broker, hand: Hand) -> None:
    client, token, job_id = leased(broker)
    client.pass_time(50)
    assert client.answer("extend", token, job_id, lease="2m") == ["extended"]
    client.pass_time(100)
    hand.deliver()
    assert client.answer("complete", token, job_id) == ["delivered"]


def test_an_extension_never_shortens(broker: Broker, hand: Hand) -> None:
    client, token, job_id = leased(broker)
    before = client.job(job_id)["leaseExpiresAt"]
    assert client.answer("extend", token, job_id, lease=1) == ["extended"]
    assert client.job(job_id)["leaseExpiresAt"] == before


def test_an_extension_without_a_time_is_the_consumers_usual_lease(broker: Broker) -> None:
    client, token, job_id = leased(broker, lease=300)
    before = broker.clock.now()
    client.answer("extend", token, job_id)
    assert show_time(before + timedelta(seconds=299)) <= client.job(job_id)["leaseExpiresAt"]
    assert client.job(job_id)["leaseExpiresAt"] <= show_time(broker.clock.now() + timedelta(seconds=301))


def test_an_expired_job_dies_instead_of_being_handed_out(broker: Broker) -> None:
    client = puller(broker)
    late = make_jobs(broker.client, 3, expiresAt=in_minutes(broker, 1))
    other = make_jobs(broker.client, 1)
    client.pass_time(61)
    assert client.queued() == other
    assert client.lease(1)[1] == other
    assert [client.job(one)["deadReason"] for one in late] == ["EXPIRED"] * 3


def test_an_expired_job_cannot_be_taken_step_by_step(broker: Broker) -> None:
    client = puller(broker)
    (late,) = make_jobs(broker.client, 1, expiresAt=in_minutes(broker, 1))
    client.pass_time(61)
    assert client.step(late, "INFLIGHT") == 400


def test_a_job_that_nobody_pulls_expires_too(broker: Broker, hand: Hand) -> None:
    client = puller(broker)
    (late,) = make_jobs(broker.client, 1, expiresAt=in_minutes(broker, 1))
    hand.deliver()
    assert client.job(late)["state"] == "queued"
    client.pass_time(61)
    hand.deliver()
    job = client.job(late)
    assert (job["state"], job["deadReason"], job["error"]["type"]) == ("dead", "EXPIRED", "EXPIRED")


def test_a_leased_job_does_not_expire_before_its_lease_ends(broker: Broker, hand: Hand) -> None:
    client = puller(broker)
    ids = make_jobs(broker.client, 2, expiresAt=in_minutes(broker, 1))
    token, _ = client.lease(2, lease=300)
    client.pass_time(200)
    hand.deliver()
    assert [client.job(one)["state"] for one in ids] == ["inflight"] * 2
    assert client.answer("complete", token, ids[0]) == ["delivered"]
    client.pass_time(101)
    hand.deliver()
    assert [client.job(one)["state"] for one in ids] == ["delivered", "dead"]
    assert client.job(ids[1])["deadReason"] == "EXPIRED"


def test_an_expired_job_that_moves_gets_its_dead_channel_when_it_is_leased(broker: Broker) -> None:
    client = puller(broker, deadLetterMode="move")
    make_jobs(broker.client, 1, expiresAt=in_minutes(broker, 1))
    client.pass_time(61)
    assert client.lease()[1] == []
    (moved,) = listed(broker, "all", path="/channel/dlq.broker.consumer/consumer/dead-letters/jobs")
    assert client.job(moved)["origin"]["errorType"] == "EXPIRED"
