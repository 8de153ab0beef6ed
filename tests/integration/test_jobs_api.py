"""Looking at jobs through the API: one with its history, a consumer's by state, and any by the start of its id."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from broker.domain.pages import encode_cursor
from broker.domain.states import JobStatus
from broker.domain.times import show_time
from broker.store import job_pages
from tests.support import states
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, get, parsed
from tests.support.jobs import JOBS, act, job, listed, make_jobs
from tests.support.walk import register

CONSUMER = "/channel/channel/consumer/consumer"
TOKENS = {"X-Broker-Channel-Token": "channel-token", "X-Broker-Consumer-Token": "consumer-token"}
ORDER = ("all", "queued", "inflight", "delivered", "dead", "archived")


def in_every_state(broker: Broker) -> dict[str, str]:
    """A job of each state, by the name of the state, oldest first."""
    register(broker.client)
    scheduled_for = show_time(broker.clock.now() + timedelta(hours=1))
    names = ("queued", "retrying", "inflight", "delivered", "dead", "archived")
    found = dict(zip(names, make_jobs(broker.client, len(names)), strict=True))
    found["scheduled"] = make_jobs(broker.client, 1, scheduledFor=scheduled_for)[0]
    states.wait_out_a_retry(broker, found["retrying"])
    states.take(broker, found["inflight"])
    states.finish(broker, found["delivered"])
    states.die(broker, found["dead"])
    states.finish(broker, found["archived"], status=JobStatus.ARCHIVED)
    return found


def test_a_job_is_shown_in_the_words_of_its_state(broker: Broker) -> None:
    for name, job_id in in_every_state(broker).items():
        shown = job(broker, job_id)
        stored = "QUEUED" if name in ("queued", "retrying", "scheduled") else name.upper()
        assert (shown["state"], shown["status"]) == (name, stored)
        assert (shown["nextAttemptAt"] is not None) == (stored == "QUEUED")
        assert (shown["leaseExpiresAt"] is not None) == (name == "inflight")
        assert (shown["deadAt"] is not None) == (shown["jobRequeueUrl"] is not None) == (name == "dead")


def test_a_dead_job_tells_all_that_clients_and_operators_need(broker: Broker) -> None:
    register(broker.client)
    (job_id,) = make_jobs(broker.client, 1, messageId="a b", priority=3, expiresAt="2999-01-01T00:00:00Z")
    states.die(broker, job_id)
    shown = get(broker.client, f"{CONSUMER}/job/{job_id}")
    assert shown == job(broker, job_id)
    expected: dict[str, Any] = {
        "id": job_id, "channelId": "channel", "consumerId": "consumer", "messageId": "a b", "producerId": "producer",
        "listenerEndpoint": None, "listenerName": "consumer", "status": "DEAD", "state": "dead", "priority": 3,
        "nextAttemptAt": None, "expiresAt": "2999-01-01T00:00:00.000000Z", "leaseExpiresAt": None,
        "retryAttemptCount": 3, "replayCount": 0, "outcome": None, "deadReason": "RETRIES_EXHAUSTED",
        "appliedPolicy": "exponential", "appliedMaxRetries": 3, "sourceJobId": None, "origin": None, "history": [],
        "error": {"type": "HTTP_503", "category": "TRANSIENT", "text": "no room", "fingerprint": "f" * 32},
        "jobUrl": f"{CONSUMER}/job/{job_id}", "messageUrl": "/channel/channel/message/a%20b",
        "channelUrl": "/channel/channel", "consumerUrl": CONSUMER, "producerUrl": "/producer/producer",
        "jobRequeueUrl": f"{CONSUMER}/job/{job_id}/requeue-dead-job",
    }  # fmt: skip
    times = {name: shown.pop(name) for name in ("createdAt", "statusChangedAt", "deadAt")}
    assert shown == expected
    assert times["createdAt"] <= times["statusChangedAt"] == times["deadAt"]
    for name in ("jobUrl", "messageUrl", "channelUrl", "consumerUrl", "producerUrl"):
        assert broker.client.get(str(expected[name]), headers=ADMIN).status_code == 200


def test_where_a_moved_job_came_from_is_told(broker: Broker) -> None:
    register(broker.client)
    here, source = make_jobs(broker.client, 1)[0], broker.parts.ids.new()
    states.come_from(broker, here, source)
    origin = job(broker, here)["origin"]
    assert origin.pop("failedAt").endswith("Z")
    assert origin == {"jobId": source, "channelId": "orders", "consumerId": "billing", "messageId": "order-1",
                      "errorType": "HTTP_500", "errorText": "no", "retryCount": 3}  # fmt: skip


def test_history_tells_what_happened_in_its_order(broker: Broker) -> None:
    register(broker.client)
    (job_id,) = make_jobs(broker.client, 1)
    for name in ("fail", "retry", "done"):
        act(broker.client, name, job_id)
    history = job(broker, job_id)["history"]
    assert [(one["event"], one["actor"]) for one in history] == [
        ("failed", "admin"), ("requeued", "admin"), ("done", "admin")
    ]  # fmt: skip
    assert [one["detail"] for one in history] == [f"by hand, it was {name}" for name in ("queued", "dead", "queued")]
    assert [one["at"] for one in history] == sorted(one["at"] for one in history)


def test_both_tokens_or_the_admin_open_a_consumers_jobs(broker: Broker) -> None:
    register(broker.client, consumers=("consumer", "other"))
    mine, others = make_jobs(broker.client, 1)
    for path in (f"{CONSUMER}/job/{mine}", JOBS):
        assert broker.client.get(path, headers=TOKENS).status_code == 200
        assert code_of(broker.client.get(path)) == (401, "unauthorized")
        for wrong in ({"X-Broker-Channel-Token": "x"}, {"X-Broker-Consumer-Token": "other-token"}):
            assert code_of(broker.client.get(path, headers={**TOKENS, **wrong})) == (403, "forbidden")
    for unknown in (others, "nonsense", "%", "ü", "é" * 20, f"{mine}%20", mine.upper(), broker.parts.ids.new()):
        assert code_of(broker.client.get(f"{CONSUMER}/job/{unknown}", headers=TOKENS)) == (404, "not-found")
    for path in (f"/admin/job/{mine}",):
        assert code_of(broker.client.get(path, headers=TOKENS)) == (401, "unauthorized")
    assert code_of(broker.client.post("/admin/jobs/drop", json={"jobs": [mine]}, headers=TOKENS))[0] == 401


def test_the_unique_start_of_an_id_is_enough(broker: Broker) -> None:
    register(broker.client)
    ids = make_jobs(broker.client, 8)
    client, common = broker.client, len(ids[0]) - 5
    assert job(broker, ids[0])["id"] == ids[0]
    assert len({one[:common] for one in ids}) == 1
    refused = client.get(f"/admin/job/{ids[0][:common]}", headers=ADMIN)
    assert faults(refused) == ["jobId"]
    detail = parsed(refused)["detail"]
    assert all(one in detail for one in ids[:5]) and ids[5] not in detail and "and others" in detail
    act(client, "drop", *ids[1:])
    for length in range(8, 21):
        assert job(broker, ids[0][:length])["id"] == ids[0]
    assert code_of(client.get("/admin/job/0000000000", headers=ADMIN)) == (404, "not-found")
    for bad in (ids[0][:7], ids[0] + "0", "xyzxyzxyz", "%25%25%25%25%25%25%25%25", ids[0].upper()):
        assert faults(client.get(f"/admin/job/{bad}", headers=ADMIN)) == ["jobId"]


def test_jobs_are_listed_by_state(broker: Broker) -> None:
    found = in_every_state(broker)
    expected = {
        "all": ["scheduled", "archived", "delivered", "inflight", "retrying", "queued", "dead"],
        "queued": ["queued", "retrying", "scheduled"],
        **{name: [name] for name in ("inflight", "delivered", "dead", "archived")},
    }
    for state in ORDER:
        assert listed(broker, state) == listed(broker, state, limit=1) == [found[name] for name in expected[state]]
    assert get(broker.client, JOBS) == get(broker.client, f"{JOBS}?state=all") == get(broker.client, f"{JOBS}?state=")
    for bad in ("scheduled", "DEAD", "1004", "dead'", "dead,queued"):
        assert faults(broker.client.get(f"{JOBS}?state={bad}", headers=ADMIN)) == ["state"]


def test_a_listed_job_is_the_job_without_its_history(broker: Broker) -> None:
    found = in_every_state(broker)
    for one in get(broker.client, JOBS)["result"]:
        whole = job(broker, one["id"])
        assert one == {name: value for name, value in whole.items() if name != "history"}
    assert len(found) == 7


def test_queued_jobs_are_listed_as_they_will_be_served(broker: Broker) -> None:
    register(broker.client)
    low, high, later, middle = (make_jobs(broker.client, 2, priority=priority) for priority in (0, 9, 9, 5))
    states.wait_out_a_retry(broker, *later)
    assert listed(broker, "queued", limit=3) == [*high, *later, *middle, *low]


def test_the_dead_are_listed_by_their_death_and_inflight_ones_by_their_leases(broker: Broker) -> None:
    register(broker.client, consumers=("consumer", "other"))
    ids = make_jobs(broker.client, 8)
    mine, others = ids[::2], ids[1::2]
    moment = broker.clock.now()
    for number, one in enumerate(mine):
        states.die(broker, one, at=moment - timedelta(minutes=number))
    assert listed(broker, "dead", limit=3) == mine
    states.die(broker, *others, at=moment)
    assert listed(broker, "dead", limit=3) == mine
    states.take(broker, *mine[:2])
    states.take(broker, mine[2], *others, shared=True)
    assert listed(broker, "inflight", limit=2) == [mine[2], mine[1], mine[0]]
    states.finish(broker, mine[1])
    assert listed(broker, "inflight") == [mine[2], mine[0]]


@pytest.mark.parametrize("state", ORDER)
def test_pages_lead_there_and_back(broker: Broker, state: str) -> None:
    register(broker.client)
    ids = [one for priority in (0, 5) for one in make_jobs(broker.client, 6, priority=priority)]
    if state in ("all", "dead"):
        states.die(broker, *ids[::2])
    if state == "inflight":
        states.take(broker, *ids)
    if state in ("delivered", "archived"):
        states.finish(broker, *ids[1:], status=JobStatus[state.upper()])
    pages = [get(broker.client, f"{JOBS}?state={state}&limit=4")]
    while "next" in pages[-1]["pages"]:
        pages.append(get(broker.client, pages[-1]["pages"]["next"]))
    assert len({one["id"] for page in pages for one in page["result"]}) == sum(len(page["result"]) for page in pages)
    assert len(pages) == (2 if state == "dead" else 3)
    assert "previous" not in pages[0]["pages"]
    for before, after in pairwise(pages):
        back = get(broker.client, after["pages"]["previous"])
        assert back["result"] == before["result"]
        assert ("previous" in back["pages"]) == ("previous" in before["pages"])
        assert get(broker.client, back["pages"]["next"])["result"] == after["result"]


def test_a_page_examines_so_many_entries_and_then_says_where_to_go_on(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_pages, "EXAMINED", 4)
    monkeypatch.setattr(job_pages, "STEP", 3)
    register(broker.client)
    ids = make_jobs(broker.client, 14)
    states.finish(broker, ids[0], ids[1], ids[12])
    page = get(broker.client, f"{JOBS}?state=delivered&limit=2")
    assert [one["id"] for one in page["result"]] == [ids[12]]
    assert get(broker.client, page["pages"]["next"])["result"] == []
    assert listed(broker, "delivered", limit=2) == [ids[12], ids[1], ids[0]]
    assert listed(broker, "archived", limit=2) == []


def test_a_cursor_of_another_list_is_refused(broker: Broker) -> None:
    register(broker.client)
    make_jobs(broker.client, 2, priority=0)
    page = get(broker.client, f"{JOBS}?state=queued&limit=1")
    taken = page["pages"]["next"].partition("next=")[2].partition("&")[0]
    forged = encode_cursor((10, broker.clock.now(), broker.parts.ids.new()))
    for state, cursor in (("dead", taken), ("all", taken), ("queued", forged), ("queued", "nonsense")):
        answer = broker.client.get(f"{JOBS}?state={state}&next={cursor}", headers=ADMIN)
        assert code_of(answer) == (400, "invalid-cursor")
    assert faults(broker.client.get(f"{JOBS}?limit=101", headers=ADMIN)) == ["limit"]


def test_jobs_of_a_deleted_consumer_are_not_shown(broker: Broker) -> None:
    register(broker.client)
    (job_id,) = make_jobs(broker.client, 1)
    assert broker.client.delete(f"{CONSUMER}?force=true", headers=ADMIN).status_code == 204
    for path in (f"/admin/job/{job_id}", f"/admin/job/{job_id[:19]}", f"{CONSUMER}/job/{job_id}", JOBS):
        assert code_of(broker.client.get(path, headers=ADMIN)) == (404, "not-found")
    assert act(broker.client, "fail", job_id)["notFound"] == 1
