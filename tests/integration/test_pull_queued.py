"""The list of what could be leased; and who may pull at all."""

import pytest

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, parsed, put
from tests.support.jobs import make_jobs
from tests.support.pull import Puller, puller
from tests.support.walk import CHANNEL_TOKEN, publish

CALLS = (("GET", "queued-jobs"), *(("POST", name) for name in ("lease", "complete", "retry", "extend", "job/x")))
EVERY_CALL = pytest.mark.parametrize(("method", "name"), CALLS)


def test_queued_jobs_are_listed_in_the_order_in_which_they_are_leased(broker: Broker) -> None:
    client = puller(broker)
    low = make_jobs(broker.client, 2, priority=1)
    high = make_jobs(broker.client, 2, priority=7)
    assert client.queued() == [*high, *low]
    assert client.lease(4)[1] == [*high, *low]
    assert client.queued() == []


def test_the_list_shows_what_existing_clients_read(broker: Broker) -> None:
    client = puller(broker)
    publish(broker.client, b"hello", **{"Content-Type": "text/plain", "X-Broker-Message-ID": "m1"})
    answer = broker.client.get(f"{client.path}/queued-jobs", headers=client.credentials)
    (job,) = parsed(answer)["result"]
    assert job.keys() >= {"id", "priority", "incrementalTimeout", "message"}
    assert {name: job["message"][name] for name in ("messageId", "payload", "headers", "contentType")} == {
        "messageId": "m1",
        "payload": "hello",
        "headers": {},
        "contentType": "text/plain",
    }


def test_listing_takes_nothing(broker: Broker) -> None:
    client = puller(broker)
    ids = make_jobs(broker.client, 1)
    assert client.queued() == client.queued() == client.lease()[1] == ids


def test_a_list_has_25_jobs_or_as_many_as_are_asked_for(broker: Broker) -> None:
    client = puller(broker)
    ids = make_jobs(broker.client, 110)
    assert client.queued() == client.queued("?limit=") == ids[:25]
    assert client.queued("?limit=1") == ids[:1]
    assert client.queued("?limit=100") == ids[:100]


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "1.5", "%D9%A3", "9" * 400])
def test_a_limit_that_is_wrong_is_refused(broker: Broker, limit: str) -> None:
    client = puller(broker)
    answer = broker.client.get(f"{client.path}/queued-jobs?limit={limit}", headers=client.credentials)
    assert faults(answer) == ["limit"]


def test_large_payloads_are_listed_in_bounded_answers(broker: Broker) -> None:
    client = puller(broker)
    for _ in range(5):
        publish(broker.client, b"x" * 4_000_000)
    assert len(client.queued()) == 4


@EVERY_CALL
def test_a_push_consumer_cannot_be_pulled_from(broker: Broker, method: str, name: str) -> None:
    client = puller(broker)
    put(broker.client, client.path, type="push", callbackUrl="https://example.org/")
    answer = broker.client.open(f"{client.path}/{name}", method=method, json={}, headers=client.credentials)
    assert code_of(answer) == (412, "not-pull")


@EVERY_CALL
def test_both_tokens_are_needed(broker: Broker, method: str, name: str) -> None:
    client = puller(broker)
    channel, consumer = {"X-Broker-Channel-Token": CHANNEL_TOKEN}, {"X-Broker-Consumer-Token": "consumer-token"}
    wrong = {"X-Broker-Channel-Token": "no", "X-Broker-Consumer-Token": "no"}
    for shown, expected in (
        ({}, (401, "unauthorized")),
        (channel, (401, "unauthorized")),
        (consumer, (401, "unauthorized")),
        ({**channel, **consumer, "X-Broker-Consumer-Token": "no"}, (403, "forbidden")),
        ({**consumer, "X-Broker-Channel-Token": "no"}, (403, "forbidden")),
        (wrong, (403, "forbidden")),
    ):
        answer = broker.client.open(f"{client.path}/{name}", method=method, json={}, headers=shown)
        assert code_of(answer) == expected, shown


@EVERY_CALL
def test_the_admin_may_pull_and_is_told_what_does_not_exist(broker: Broker, method: str, name: str) -> None:
    client = puller(broker)
    gone = broker.client.open(f"/channel/channel/consumer/no/{name}", method=method, json={}, headers=ADMIN)
    assert code_of(gone) == (404, "not-found")
    answer = broker.client.open(f"{client.path}/{name}", method=method, json={}, headers=ADMIN)
    assert answer.status_code in (200, 400)


@pytest.mark.parametrize("name", ["lease", "complete", "retry", "extend", "job/0123456789abcdefghig"])
@pytest.mark.parametrize("body", [b"{", b"[]", b"7", b"\xff", b'{"limit": NaN}'])
def test_a_body_that_is_no_object_is_refused(broker: Broker, name: str, body: bytes) -> None:
    client = puller(broker)
    headers = {**client.credentials, "Content-Type": "application/json"}
    assert faults(broker.client.post(f"{client.path}/{name}", data=body, headers=headers)) == ["body"]


def test_a_consumer_does_not_see_the_jobs_of_another(broker: Broker) -> None:
    client = puller(broker)
    other = Puller(broker, "other")
    other.configure(type="pull", token="other-token")
    make_jobs(broker.client, 1)
    assert client.queued() != other.queued() and len(client.queued()) == len(other.queued()) == 1
