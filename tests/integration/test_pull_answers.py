"""Clients answer for what they leased: done, failed, again, dead, or a little longer; and too late."""

from datetime import timedelta

import pytest

from broker.domain.times import show_time
from tests.support.brokers import Broker
from tests.support.calls import faults
from tests.support.jobs import make_jobs
from tests.support.pull import Puller, puller, results
from tests.support.rows import count
from tests.support.walk import register

NOBODY = "0123456789abcdefghig"


def leased(broker: Broker, **settings: object) -> tuple[Puller, str, str]:
    """A client that holds the only job for a minute."""
    client = puller(broker, **settings)
    make_jobs(broker.client, 1)
    return (client, *client.take(lease=60))


def test_a_completed_job_is_delivered_and_its_lease_is_gone(broker: Broker) -> None:
    client, token, job_id = leased(broker)
    assert client.answer("complete", token, job_id) == ["delivered"]
    job = client.job(job_id)
    assert (job["state"], job["outcome"], job["history"]) == ("delivered", "ok", [])
    assert count(broker, "lease") == 0


def test_completing_twice_is_refused_the_second_time(broker: Broker) -> None:
    client, token, job_id = leased(broker)
    client.answer("complete", token, job_id)
    before = client.job(job_id)
    assert client.answer("complete", token, job_id, result="failed") == ["late"]
    assert client.job(job_id) == before


def test_work_that_went_wrong_is_delivered_with_one_line_of_history(broker: Broker) -> None:
    client, token, job_id = leased(broker)
    assert client.answer("complete", token, job_id, result="failed") == ["delivered"]
    job = client.job(job_id)
    assert (job["state"], job["outcome"], job["deadReason"]) == ("delivered", "failed", None)
    assert [(one["event"], one["actor"]) for one in job["history"]] == [("answered-failed", "client")]


def test_each_job_has_its_own_answer(broker: Broker) -> None:
    client = puller(broker)
    ids = make_jobs(broker.client, 3)
    (first, _), (second, _) = client.lease(2), client.lease(1)
    jobs = [{"id": ids[0], "leaseToken": first}, {"id": ids[1], "leaseToken": second}, {"id": NOBODY}, ids[2]]
    told = client.ask("complete", jobs=jobs, leaseToken=second)
    assert results(told) == ["delivered", "late", "late", "delivered"]
    assert [one["id"] for one in told["results"]] == [ids[0], ids[1], NOBODY, ids[2]]
    assert client.job(ids[1])["state"] == "inflight"


def test_a_job_waits_by_policy_when_no_time_is_given(broker: Broker) -> None:
    client, token, job_id = leased(broker, retryPolicy="fixed", retryBase=100)
    error = {"type": "NO_DISK", "text": "disk is full", "category": "RESOURCE"}
    assert client.answer("retry", token, job_id, error=error) == ["retrying"]
    job = client.job(job_id)
    assert (job["state"], job["retryAttemptCount"], job["appliedPolicy"]) == ("retrying", 1, "fixed")
    assert {name: job["error"][name] for name in error} == error
    client.pass_time(99)
    assert client.lease()[1] == []
    client.pass_time(2)
    assert client.ask("lease")["jobs"][0]["attempt"] == 2


def test_a_job_waits_until_the_time_that_is_given(broker: Broker) -> None:
    client, token, job_id = leased(broker)
    at = show_time((broker.clock.now() + timedelta(hours=1)).replace(second=0))
    assert client.answer("retry", token, job_id, retryAt=at) == ["retrying"]
    job = client.job(job_id)
    assert at[:17] in job["nextAttemptAt"] and job["nextAttemptAt"] >= at
    assert (job["error"]["type"], job["error"]["category"]) == ("CLIENT_RETRY", "TRANSIENT")


def test_a_time_that_has_passed_means_now(broker: Broker) -> None:
    client, token, job_id = leased(broker)
    assert client.answer("retry", token, job_id, retryAt="2001-01-01T00:00:00Z") == ["retrying"]
    assert client.lease()[1] == [job_id]


@pytest.mark.parametrize("strategy", ["automatic", "selective", "manual"])
def test_a_job_that_is_called_dead_lands_in_the_dead_letters(broker: Broker, strategy: str) -> None:
    client, token, job_id = leased(broker, maxRetries=50, dlqStrategy=strategy)
    assert client.answer("retry", token, job_id, dead=True, error="poison") == ["dead"]
    job = client.job(job_id)
    assert (job["state"], job["deadReason"], job["retryAttemptCount"]) == ("dead", "REJECTED", 0)
    assert [one["event"] for one in job["history"]] == ["failed", "died"]
    assert job["error"]["text"] == "poison"


def test_a_hopeless_job_that_is_called_dead_is_kept_by_every_strategy_that_keeps_any(broker: Broker) -> None:
    client, token, job_id = leased(broker, dlqStrategy="selective")
    assert client.answer("retry", token, job_id, dead=True, error={"category": "VALIDATION"}) == ["dead"]
    assert client.job(job_id)["deadReason"] == "REJECTED"


def test_a_job_dies_when_its_retries_are_used_up(broker: Broker) -> None:
    client, token, job_id = leased(broker, retryPolicy="immediate", maxRetries=2)
    for _ in range(2):
        assert client.answer("retry", token, job_id) == ["retrying"]
        token, _ = client.take()
    assert client.answer("retry", token, job_id) == ["dead"]
    job = client.job(job_id)
    assert (job["deadReason"], job["retryAttemptCount"], job["appliedMaxRetries"]) == ("RETRIES_EXHAUSTED", 2, 2)


def test_a_job_with_unlimited_retries_never_dies_of_them(broker: Broker) -> None:
    client, token, job_id = leased(broker, retryPolicy="immediate", maxRetries=-1)
    for _ in range(10):
        assert client.answer("retry", token, job_id) == ["retrying"]
        token, _ = client.take()
    assert client.job(job_id)["retryAttemptCount"] == 10


def test_what_is_never_retried_dies_at_once(broker: Broker) -> None:
    client, token, job_id = leased(broker)
    assert client.answer("retry", token, job_id, error={"category": "VALIDATION"}) == ["dead"]
    assert client.job(job_id)["deadReason"] == "NON_RETRYABLE"


@pytest.mark.parametrize("what", ["complete", "retry", "extend"])
def test_another_consumers_jobs_and_tokens_are_refused(broker: Broker, what: str) -> None:
    register(broker.client, consumers=("consumer", "other"))
    make_jobs(broker.client, 1)
    mine, other = Puller(broker), Puller(broker, "other")
    (token, job_id), (their_token, their_job) = mine.take(), other.take()
    before = mine.job(job_id), mine.job(their_job)
    assert other.answer(what, token, job_id) == other.answer(what, token, their_job) == ["late"]
    assert other.answer(what, their_token, job_id) == ["late"]
    assert before == (mine.job(job_id), mine.job(their_job))


@pytest.mark.parametrize("what", ["complete", "retry", "extend"])
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, ["jobs"]),
        ({"jobs": []}, ["jobs"]),
        ({"jobs": [NOBODY] * 1001}, ["jobs"]),
        ({"jobs": [7]}, ["jobs[0]"]),
        ({"jobs": [NOBODY]}, ["jobs[0].leaseToken"]),
        ({"jobs": [{"leaseToken": "x"}]}, ["jobs[0].leaseToken", "jobs[0].id"]),
        ({"jobs": [{"id": NOBODY, "more": 1}], "leaseToken": NOBODY}, ["jobs[0].more"]),
        ({"jobs": [NOBODY, NOBODY], "leaseToken": NOBODY}, ["jobs"]),
        ({"jobs": [NOBODY], "leaseToken": NOBODY, "more": 1}, ["more"]),
    ],
)
def test_answers_that_are_wrong_are_refused_by_their_names(
    broker: Broker, what: str, fields: object, named: list[str]
) -> None:
    assert faults(puller(broker).post(what, fields)) == named


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        *(("retryAt", bad, "retryAt") for bad in ("soon", 7, "2030-02-30T00:00:00Z", "0001-01-01T00:00:00Z")),
        *(("dead", bad, "dead") for bad in ("true", 1)),
        *(("error", bad, "error") for bad in (7, 1.5)),
        *(("error", {"type": bad}, "error.type") for bad in ("", "ü", "x" * 65, 7)),
        *(("error", {"category": bad}, "error.category") for bad in ("network", 7)),
        *(("error", {"text": bad}, "error.text") for bad in (7, "\ud800")),
        ("error", {"more": 1}, "error.more"),
        ("result", "failed", "result"),
    ],
)
def test_a_retry_that_is_wrong_is_refused_by_its_name(broker: Broker, field: str, value: object, named: str) -> None:
    fields = {"jobs": [{"id": NOBODY, field: value}], "leaseToken": NOBODY}
    assert faults(puller(broker).post("retry", fields)) == [f"jobs[0].{named}"]
