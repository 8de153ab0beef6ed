"""One dead job over HTTP: requeued, deleted, refused."""

import pytest

from tests.support import states
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, parsed
from tests.support.dead import CONSUMER, TOKENS, bury, call, dead_count, totals
from tests.support.jobs import act, job, make_jobs
from tests.support.walk import register


@pytest.mark.parametrize("counted", [0, 2])
def test_a_requeued_job_waits_again_and_is_counted_no_more(broker: Broker, counted: int) -> None:
    first, second = bury(broker, 2, counted)
    assert call(broker, "POST", f"{CONSUMER}/job/{first}/requeue-dead-job", 202) is None
    shown = job(broker, first)
    assert (shown["status"], shown["retryAttemptCount"], shown["deadAt"]) == ("QUEUED", 0, None)
    assert [(one["event"], one["actor"]) for one in shown["history"]] == [("requeued", "admin")]
    assert dead_count(broker) == 1
    assert totals(broker) == {"died": 2, "requeued": 1, "deleted": 0, "archived": 0, "moved": 0}
    assert job(broker, second)["status"] == "DEAD"


def test_a_job_that_is_not_dead_cannot_be_requeued(broker: Broker) -> None:
    register(broker.client)
    queued, inflight, delivered = make_jobs(broker.client, 3)
    states.take(broker, inflight)
    states.finish(broker, delivered)
    for job_id, status in ((queued, "QUEUED"), (inflight, "INFLIGHT"), (delivered, "DELIVERED")):
        answer = broker.client.post(f"{CONSUMER}/job/{job_id}/requeue-dead-job", headers=ADMIN)
        assert code_of(answer) == (409, "not-dead")
        assert (parsed(answer)["status"], parsed(answer)["jobStatus"]) == (409, status)
        assert job(broker, job_id)["status"] == status


def test_a_push_consumers_dead_job_can_be_requeued_too(broker: Broker) -> None:
    (job_id,) = bury(broker, 1)
    fields = {"type": "push", "callbackUrl": "https://example.com/"}
    assert broker.client.put(CONSUMER, json=fields, headers=ADMIN).status_code == 200
    assert broker.client.post(f"{CONSUMER}/job/{job_id}/requeue-dead-job", headers=TOKENS).status_code == 202
    assert job(broker, job_id)["history"][-1]["actor"] == "consumer"


@pytest.mark.parametrize("counted", [0, 2])
def test_a_deleted_job_is_gone_and_counted_no_more(broker: Broker, counted: int) -> None:
    first, second = bury(broker, 2, counted)
    assert call(broker, "DELETE", f"{CONSUMER}/job/{first}", 204) is None
    assert code_of(broker.client.get(f"/admin/job/{first}", headers=ADMIN)) == (404, "not-found")
    assert dead_count(broker) == 1
    assert totals(broker) == {"died": 2, "requeued": 0, "deleted": 1, "archived": 0, "moved": 0}
    assert code_of(broker.client.delete(f"{CONSUMER}/job/{first}", headers=ADMIN)) == (404, "not-found")
    assert job(broker, second)["status"] == "DEAD"


def test_only_a_dead_job_can_be_deleted(broker: Broker) -> None:
    register(broker.client)
    (job_id,) = make_jobs(broker.client, 1)
    for query in ("", "?force=true"):
        answer = broker.client.delete(f"{CONSUMER}/job/{job_id}{query}", headers=ADMIN)
        assert code_of(answer) == (404, "not-found")
    assert job(broker, job_id)["status"] == "QUEUED"


def test_a_job_that_an_operator_killed_is_deleted_by_force_only(broker: Broker) -> None:
    register(broker.client)
    (job_id,) = make_jobs(broker.client, 1)
    act(broker.client, "fail", job_id)
    assert code_of(broker.client.delete(f"{CONSUMER}/job/{job_id}", headers=TOKENS)) == (404, "not-found")
    assert faults(broker.client.delete(f"{CONSUMER}/job/{job_id}?force=perhaps", headers=ADMIN)) == ["force"]
    assert dead_count(broker) == 1
    call(broker, "DELETE", f"{CONSUMER}/job/{job_id}?force=true", 204)
    assert dead_count(broker) == 0


def test_tokens_open_their_own_consumers_dead_only(broker: Broker) -> None:
    register(broker.client, consumers=("consumer", "other"))
    mine, others = make_jobs(broker.client, 1)
    states.die(broker, mine, others)
    for method, below in (("POST", "/requeue-dead-job"), ("DELETE", "")):
        path = f"{CONSUMER}/job/{mine}{below}"
        assert code_of(broker.client.open(path, method=method)) == (401, "unauthorized")
        for wrong in ({"X-Broker-Channel-Token": "x"}, {"X-Broker-Consumer-Token": "other-token"}):
            answer = broker.client.open(path, method=method, headers={**TOKENS, **wrong})
            assert code_of(answer) == (403, "forbidden")
        for unknown in (others, broker.parts.ids.new(), "nonsense", f"{mine}%20", mine.upper()):
            answer = broker.client.open(f"{CONSUMER}/job/{unknown}{below}", method=method, headers=TOKENS)
            assert code_of(answer) == (404, "not-found")
    assert job(broker, mine)["status"] == job(broker, others)["status"] == "DEAD"
