"""One job, step by step, as clients of the older wire contract do it."""

from datetime import timedelta
from itertools import product

import pytest

from broker.domain.states import JobStatus
from broker.domain.times import show_time
from tests.support.brokers import Broker
from tests.support.calls import SCHEDULED_FOR, code_of, faults, send
from tests.support.engines import Hand
from tests.support.jobs import make_jobs
from tests.support.pull import Puller, puller
from tests.support.rows import count, rows
from tests.support.states import checkpoint, finish, totals

NOBODY = "0123456789abcdefghig"
STEPS = ("INFLIGHT", "DELIVERED", "DEAD")
ALLOWED = {("QUEUED", "INFLIGHT"), ("INFLIGHT", "DELIVERED"), ("INFLIGHT", "DEAD"), ("DEAD", "INFLIGHT")}


def job_that_is(client: Puller, state: str) -> str:
    """A job of each state, by the client's own steps where there are such."""
    (job_id,) = make_jobs(client.broker.client, 1)
    ways = {"INFLIGHT": ["INFLIGHT"], "DELIVERED": ["INFLIGHT", "DELIVERED"], "DEAD": ["INFLIGHT", "DEAD"]}
    for step in ways.get(state, []):
        assert client.step(job_id, step) == 202
    if state == "ARCHIVED":
        finish(client.broker, job_id, status=JobStatus.ARCHIVED)
    assert client.job(job_id)["status"] == state
    return job_id


@pytest.mark.parametrize(("now", "then"), list(product([one.name for one in JobStatus], STEPS)))
def test_only_the_steps_of_the_contract_are_allowed(broker: Broker, now: str, then: str) -> None:
    client = puller(broker)
    job_id = job_that_is(client, now)
    before = client.job(job_id)
    if (now, then) in ALLOWED:
        assert client.step(job_id, then) == 202
        assert client.job(job_id)["status"] == then
        return
    answer = client.post(f"job/{job_id}", {"NextState": then})
    assert answer.status_code == 202 if now == then else faults(answer) == ["NextState"]
    assert client.job(job_id) == before


def test_a_job_is_delivered_by_the_steps_and_leaves_no_lease(broker: Broker) -> None:
    client = puller(broker)
    job_id = job_that_is(client, "DELIVERED")
    assert (client.job(job_id)["outcome"], count(broker, "lease")) == ("ok", 0)


def test_a_job_that_the_consumer_calls_dead_is_rejected_and_kept(broker: Broker) -> None:
    client = puller(broker, dlqStrategy="selective")
    job = client.job(job_that_is(client, "DEAD"))
    assert (job["deadReason"], job["error"]["type"], job["retryAttemptCount"]) == ("REJECTED", "REJECTED", 0)
    assert [one["event"] for one in job["history"]] == ["failed", "died"]


@pytest.mark.parametrize("counted", [True, False])
def test_a_dead_job_that_is_taken_up_again_leaves_the_summary(broker: Broker, counted: bool) -> None:
    client = puller(broker)
    job_id, _ = job_that_is(client, "DEAD"), job_that_is(client, "DEAD")
    if counted:
        checkpoint(broker)
        assert totals(broker) == (2, 2, 0, 0)
    assert client.step(job_id, "INFLIGHT") == 202
    assert totals(broker) == ((1, 2, 1, 0) if counted else (0, 1, 1, 0))
    checkpoint(broker)
    assert totals(broker) == (1, 2, 1, 0)


def test_a_dead_job_that_is_taken_up_again_has_all_its_retries(broker: Broker) -> None:
    client = puller(broker, maxRetries=1, retryPolicy="immediate")
    (job_id,) = make_jobs(broker.client, 1)
    for expected in ("retrying", "dead"):
        token, _ = client.take()
        assert client.answer("retry", token, job_id) == [expected]
    assert client.step(job_id, "INFLIGHT") == 202
    job = client.job(job_id)
    assert (job["retryAttemptCount"], job["replayCount"], job["deadReason"], job["deadAt"]) == (0, 1, None, None)
    assert job["history"][-1]["event"] == "requeued"


def test_names_are_taken_in_any_case(broker: Broker) -> None:
    client = puller(broker)
    (job_id,) = make_jobs(broker.client, 1)
    assert client.post(f"job/{job_id}", {"nextstate": "inflight", "INCREMENTALTIMEOUT": 5}).status_code == 202
    assert client.post(f"job/{job_id}", {"nExtState": "Delivered"}).status_code == 202
    assert client.job(job_id)["state"] == "delivered"


def test_more_time_makes_the_lease_longer_and_is_remembered(broker: Broker, hand: Hand) -> None:
    client = puller(broker, lease=60, retryPolicy="immediate")
    (job_id,) = make_jobs(broker.client, 1)
    assert client.step(job_id, "INFLIGHT", IncrementalTimeout=100) == 202
    client.pass_time(158)
    hand.deliver()
    assert client.job(job_id)["state"] == "inflight"
    client.pass_time(3)
    hand.deliver()
    assert client.job(job_id)["error"]["type"] == "LEASE_EXPIRED"
    assert client.ask("lease")["jobs"][0]["incrementalTimeout"] == 100


def test_a_job_that_is_not_due_cannot_be_taken(broker: Broker) -> None:
    client = puller(broker)
    send(broker.client, {SCHEDULED_FOR: show_time(broker.clock.now() + timedelta(minutes=5))})
    (job,) = rows(broker, "SELECT id FROM job")
    assert faults(client.post(f"job/{job['id']}", {"NextState": "INFLIGHT"})) == ["NextState"]
    client.pass_time(301)
    assert client.step(job["id"], "INFLIGHT") == 202


def test_unknown_jobs_and_those_of_another_consumer_are_not_found(broker: Broker) -> None:
    client = puller(broker)
    (job_id,) = make_jobs(broker.client, 1)
    assert client.step(NOBODY, "INFLIGHT") == 404
    other = Puller(broker, "other")
    other.configure(type="pull", token="other-token")
    assert code_of(other.post(f"job/{job_id}", {"NextState": "INFLIGHT"})) == (404, "not-found")
    assert client.job(job_id)["state"] == "queued"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, ["NextState"]),
        *(({"NextState": bad}, ["NextState"]) for bad in ("QUEUED", "ARCHIVED", "", 1002, None)),
        *(({"NextState": "DEAD", "IncrementalTimeout": bad}, ["IncrementalTimeout"]) for bad in (-1, 1.5, "5", 43_201)),
        ({"IncrementalTimeout": -1}, ["IncrementalTimeout", "NextState"]),
        ({"NextState": "DEAD", "more": 1}, ["more"]),
    ],
)
def test_a_step_that_is_wrong_is_refused_by_its_name(broker: Broker, fields: object, named: list[str]) -> None:
    assert faults(puller(broker).post(f"job/{NOBODY}", fields)) == named


def test_an_id_that_no_broker_made_is_refused(broker: Broker) -> None:
    assert faults(puller(broker).post("job/nonsense", {"NextState": "DEAD"})) == ["jobId"]
