"""Clients lease jobs: which, how many, when, and each job to one client only."""

from datetime import timedelta

import pytest

from broker.domain.times import show_time
from tests.support.brokers import Broker
from tests.support.calls import SCHEDULED_FOR, faults, put, send
from tests.support.engines import Hand
from tests.support.jobs import make_jobs
from tests.support.pull import puller
from tests.support.walk import publish

WRONG: dict[str, tuple[object, ...]] = {
    "limit": (0, 1001, -1, 1.5, "1", True, 10**30),
    "lease": (0, 0.5, 43_201, -1, "x", "13h", True, [], 10**400, "1e9"),
    "wait": (-1, 21, "21s", {}, 10**400),
    "clientId": ("", "x" * 256, "a\nb", 7, "\ud800"),
    "unknown": (1,),
}


def test_the_oldest_of_the_highest_priority_comes_first(broker: Broker) -> None:
    client = puller(broker)
    low = make_jobs(broker.client, 3, priority=0)
    high = make_jobs(broker.client, 2, priority=9)
    middle = make_jobs(broker.client, 1, priority=5)
    assert client.lease(4)[1] == [*high, *middle, low[0]]
    assert client.lease(1000)[1] == low[1:]


def test_one_job_is_leased_when_no_limit_is_given(broker: Broker) -> None:
    client = puller(broker)
    ids = make_jobs(broker.client, 3)
    assert client.lease(2)[1] == ids[:2]
    assert [one["id"] for one in client.ask("lease")["jobs"]] == ids[2:]


def test_where_there_is_nothing_the_answer_is_empty(broker: Broker) -> None:
    assert puller(broker).ask("lease") == {"leaseToken": None, "leaseExpiresAt": None, "jobs": []}


def test_a_job_comes_with_its_message(broker: Broker) -> None:
    client = puller(broker)
    headers = {"X-Broker-Metadata-Headers": "X-Colour", "X-Colour": "red", "X-Broker-Message-Priority": "4"}
    send(broker.client, {**headers, "X-Broker-Message-ID": "m1", "Content-Type": "text/plain"}, "grün".encode())
    got = client.ask("lease", clientId="worker-ü", lease="30s")
    (job,) = got["jobs"]
    message = job.pop("message")
    assert {**job, "id": ""} == {"id": "", "priority": 4, "attempt": 1, "incrementalTimeout": 0}
    assert (message["messageId"], message["payload"], message["payloadEncoding"]) == ("m1", "grün", "utf-8")
    assert (message["contentType"], message["headers"]) == ("text/plain", {"X-Colour": "red"})
    shown = client.job(job["id"])
    assert (shown["state"], shown["leaseExpiresAt"][:19]) == ("inflight", got["leaseExpiresAt"][:19])


def test_bytes_that_are_not_text_come_as_base64(broker: Broker) -> None:
    client = puller(broker)
    publish(broker.client, b"\xff\x00\x01")
    (job,) = client.ask("lease")["jobs"]
    assert (job["message"]["payload"], job["message"]["payloadEncoding"]) == ("/wAB", "base64")


def test_one_answer_carries_a_bounded_number_of_bytes_and_the_rest_keeps_its_place(broker: Broker) -> None:
    client = puller(broker)
    for at in range(5):
        publish(broker.client, bytes([65 + at]) * 4_000_000)
    publish(broker.client, b"small")
    first = client.ask("lease", limit=10)["jobs"]
    second = client.ask("lease", limit=10)["jobs"]
    assert [one["message"]["payload"][0] for one in first] == ["A", "B", "C", "D"]
    assert [one["message"]["payload"][0] for one in second] == ["E", "s"]
    assert len(second[0]["message"]["payload"]) == 4_000_000


def test_scheduled_messages_are_not_leased_before_their_time(broker: Broker) -> None:
    client = puller(broker)
    send(broker.client, {SCHEDULED_FOR: show_time(broker.clock.now() + timedelta(minutes=5))})
    client.pass_time(299)
    assert (client.lease()[1], client.queued()) == ([], [])
    client.pass_time(2)
    assert len(client.queued()) == len(client.lease()[1]) == 1


def test_leased_jobs_are_not_leased_again_until_the_lease_ends(broker: Broker, hand: Hand) -> None:
    client = puller(broker, retryPolicy="immediate")
    make_jobs(broker.client, 1)
    token, job_id = client.take(lease=60)
    client.pass_time(58)
    hand.deliver()
    assert client.lease()[1] == []
    client.pass_time(3)
    hand.deliver()
    again, same = client.take()
    assert same == job_id and again != token
    assert client.job(job_id)["retryAttemptCount"] == 1


def test_who_is_paused_gets_nothing_until_it_goes_on(broker: Broker) -> None:
    client = puller(broker, paused=True)
    ids = make_jobs(broker.client, 1)
    assert (client.lease()[1], client.queued(), client.step(ids[0], "INFLIGHT")) == ([], [], 400)
    client.configure(paused=False)
    put(broker.client, "/channel/channel", paused=True)
    assert (client.lease()[1], client.queued(), client.step(ids[0], "INFLIGHT")) == ([], [], 400)
    put(broker.client, "/channel/channel", paused=False)
    assert client.lease()[1] == ids


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, bad) for field, wrong in WRONG.items() for bad in wrong],
)
def test_a_wish_that_is_wrong_is_refused_by_its_name(broker: Broker, field: str, value: object) -> None:
    assert faults(puller(broker).post("lease", {field: value})) == [field]


def test_all_that_is_wrong_with_a_wish_is_told_at_once(broker: Broker) -> None:
    bad = {"limit": 0, "lease": 0, "wait": -1, "clientId": "", "more": 1}
    assert sorted(faults(puller(broker).post("lease", bad))) == ["clientId", "lease", "limit", "more", "wait"]
