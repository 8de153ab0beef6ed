"""Deleting: never by accident, leaves nothing behind, and what is made anew under an old id starts clean."""

import pytest

from broker.store import channels, consumers
from broker.store.sweeping import _sweep_consumer, sweep
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import MESSAGE_ID, SCHEDULED_FOR, code_of, get, parsed, put, send, send_batch
from tests.support.rows import count, counts, execute, rows, value
from tests.support.walk import register

CONSUMER = "/channel/channel/consumer/consumer"
LATER = "2999-01-01T00:00:00Z"


def delete(broker: Broker, path: str) -> tuple[int, str]:
    answer = broker.client.delete(path, headers=ADMIN)
    return (204, "") if answer.status_code == 204 else code_of(answer)


def lease(broker: Broker, job: str) -> None:
    """What a dispatcher does when it claims a job."""
    token, consumer = "0" * 20, value(broker, "SELECT consumerId FROM job WHERE id = :job", job=job)
    execute(
        broker,
        "UPDATE job SET status = 1002, earliestNextAttemptAt = NULL, leaseToken = :t WHERE id = :job",
        t=token,
        job=job,
    )
    execute(
        broker,
        "INSERT INTO lease (token, consumerId, owner, expiresAt, jobIds) VALUES (:t, :c, 'me', '2999-01-01', :job)",
        t=token, c=consumer, job=job,
    )  # fmt: skip


def test_a_consumer_with_unfinished_jobs_goes_only_by_force(broker: Broker) -> None:
    register(broker.client)
    for number in range(5):
        send(broker.client, {MESSAGE_ID: f"m{number}", **({SCHEDULED_FOR: LATER} if number == 4 else {})})
    jobs = [get(broker.client, f"/channel/channel/message/m{number}")["jobs"][0]["id"] for number in range(5)]
    for job, status in ((jobs[0], 1003), (jobs[1], 1004)):
        execute(broker, "UPDATE job SET status = :s, earliestNextAttemptAt = NULL WHERE id = :job", s=status, job=job)
    lease(broker, jobs[2])
    refused = broker.client.delete(CONSUMER, headers=ADMIN)
    assert (refused.status_code, parsed(refused)["code"]) == (409, "unfinished-jobs")
    assert parsed(refused)["unfinishedJobs"] == 3
    assert "3 unfinished jobs" in parsed(refused)["detail"]
    assert len(get(broker.client, "/channel/channel/message/m0")["jobs"]) == 1
    assert delete(broker, f"{CONSUMER}?force=false") == (409, "unfinished-jobs")
    assert delete(broker, f"{CONSUMER}?force=perhaps") == (400, "invalid-request")
    assert delete(broker, f"{CONSUMER}?force=true") == (204, "")
    assert delete(broker, f"{CONSUMER}?force=true") == (404, "not-found")
    assert {name: count(broker, name) for name in ("job", "lease", "consumer", "dlq_summary", "message")} == {
        "job": 0, "lease": 0, "consumer": 0, "dlq_summary": 0, "message": 5,
    }  # fmt: skip


def test_a_consumer_whose_jobs_are_finished_goes_without_force(broker: Broker) -> None:
    register(broker.client)
    send(broker.client)
    execute(broker, "UPDATE job SET status = 1003, earliestNextAttemptAt = NULL")
    assert delete(broker, CONSUMER) == (204, "")


def test_a_channel_with_consumers_goes_only_by_force_and_takes_everything_along(broker: Broker) -> None:
    client = broker.client
    register(client, "channel", ("one", "two"))
    register(client, "other")
    before = counts(broker)
    send_batch(client, {"hopCount": 99}, {"scheduledFor": LATER}, {"payload": "x"})
    assert counts(broker)["job_event"] == 2
    assert delete(broker, "/channel/channel") == (409, "in-use")
    assert "2 consumers" in parsed(client.delete("/channel/channel", headers=ADMIN))["detail"]
    assert delete(broker, "/channel/channel?force=true") == (204, "")
    assert counts(broker) == {**before, "channel": 1, "consumer": 1, "dlq_summary": 1}
    assert get(client, "/channels")["result"] == ["/channel/other"]
    assert delete(broker, "/channel/channel") == (404, "not-found")


def test_a_channel_without_consumers_goes_with_its_messages(broker: Broker) -> None:
    register(broker.client, consumers=())
    send_batch(broker.client, *[{}] * 20)
    assert delete(broker, "/channel/channel") == (204, "")
    assert counts(broker) == {"producer": 1}


def test_more_than_one_chunk_of_jobs_goes_too(broker: Broker) -> None:
    register(broker.client)
    for _ in range(2):
        assert send_batch(broker.client, *[{}] * 600)["created"] == 600
    refused = broker.client.delete(CONSUMER, headers=ADMIN)
    assert parsed(refused)["unfinishedJobs"] == 1200
    assert delete(broker, "/channel/channel?force=true") == (204, "")
    assert counts(broker) == {"producer": 1}


def test_jobs_that_would_have_expired_leave_nothing_that_waits_for_it(broker: Broker) -> None:
    register(broker.client, "channel", ("one", "two"))
    put(broker.client, "/channel/channel/consumer/one", expireAfter=3600)
    send_batch(broker.client, *[{}] * 3)
    assert counts(broker)["job_expiry"] == 3
    assert delete(broker, "/channel/channel/consumer/two?force=true") == (204, "")
    assert counts(broker)["job_expiry"] == 3
    assert delete(broker, "/channel/channel/consumer/one?force=true") == (204, "")
    assert "job_expiry" not in counts(broker) and "job" not in counts(broker)


def test_a_deleted_producer_can_publish_no_more_but_its_messages_still_name_it(broker: Broker) -> None:
    client = broker.client
    register(client)
    place = send(client).headers["Location"]
    assert delete(broker, "/producer/producer") == (204, "")
    assert send(client).status_code == 401
    assert get(client, "/producers")["result"] == []
    assert delete(broker, "/producer/producer") == (404, "not-found")
    assert client.get("/producer/producer", headers=ADMIN).status_code == 404
    assert get(client, place)["producedBy"] == "producer"


def test_what_is_made_anew_under_an_old_id_starts_clean(broker: Broker) -> None:
    client = broker.client
    register(client, "dead", ())
    register(client)
    put(client, "/producer/producer", name="Old")
    put(client, "/channel/channel", name="Old", lease=5, paused=True, deadChannel="dead")
    put(client, CONSUMER, name="Old", lease=7, paused=True, callbackUrl="http://old/")
    assert send(client, {MESSAGE_ID: "m"}).status_code == 201
    for path in (CONSUMER, "/channel/channel", "/producer/producer"):
        assert delete(broker, f"{path}?force=true") == (204, "")
    register(client)
    producer, channel, consumer = (get(client, path) for path in ("/producer/producer", "/channel/channel", CONSUMER))
    assert (producer["name"], channel["name"], consumer["name"]) == ("producer", "channel", "consumer")
    for entry in (channel, consumer):
        assert (entry["settings"], entry["paused"], entry["deadChannel"]) == ({}, False, None)
    assert consumer["callbackUrl"] is None
    assert client.get("/channel/channel/message/m", headers=ADMIN).status_code == 404
    assert get(client, "/channel/channel/messages")["result"] == []
    assert send(client, {MESSAGE_ID: "m"}).status_code == 201
    assert len(get(client, "/channel/channel/message/m")["jobs"]) == 1


def test_a_consumer_made_anew_has_none_of_the_old_jobs(broker: Broker) -> None:
    register(broker.client)
    send(broker.client, {MESSAGE_ID: "before"})
    assert delete(broker, f"{CONSUMER}?force=true") == (204, "")
    register(broker.client)
    send(broker.client, {MESSAGE_ID: "after"})
    assert get(broker.client, "/channel/channel/message/before")["jobs"] == []
    assert len(get(broker.client, "/channel/channel/message/after")["jobs"]) == 1
    assert [row["dead_count"] for row in rows(broker, "SELECT dead_count FROM dlq_summary")] == [0]


@pytest.mark.parametrize("chunks_done", [0, 1])
def test_a_sweep_that_a_crash_cut_short_is_finished_by_the_next(broker: Broker, chunks_done: int) -> None:
    client, database = broker.client, broker.parts.database
    register(client)
    for _ in range(2):
        send_batch(client, {"hopCount": 99}, *[{}] * 599)
    held = value(broker, "SELECT id FROM consumer"), value(broker, "SELECT id FROM channel")
    database.write("bury consumer", lambda c: consumers.bury(c, held[0]))
    database.write("bury channel", lambda c: channels.bury(c, held[1]))
    for _ in range(chunks_done):
        assert database.write("one chunk", _sweep_consumer) == 1001
    assert get(client, "/channels")["result"] == []
    register(client)
    assert send(client, {MESSAGE_ID: "new"}).status_code == 201
    assert sweep(database) == 1200 * 2 - 1000 * chunks_done
    assert counts(broker) == {"producer": 1, "channel": 1, "consumer": 1, "dlq_summary": 1, "message": 1, "job": 1}
    assert sweep(database) == 0
    assert len(get(client, "/channel/channel/message/new")["jobs"]) == 1
