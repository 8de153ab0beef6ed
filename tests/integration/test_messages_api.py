"""Reading messages back: by id, by status, scheduled ones, counted; and taking a scheduled one back."""

from datetime import timedelta

from broker.domain.times import show_time
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import MESSAGE_ID, SCHEDULED_FOR, code_of, faults, get, put, send, send_batch
from tests.support.rows import counts, execute
from tests.support.walk import register

CHANNEL = "/channel/channel"
LATER = "2999-01-01T00:00:00Z"


def ids(broker: Broker, path: str) -> list[str]:
    return [address.rsplit("/", 1)[1] for address in get(broker.client, path)["result"]]


def schedule(broker: Broker, name: str, hours: float) -> str:
    """A message that is due so many hours from now; gives its time."""
    at = show_time(broker.clock.now() + timedelta(hours=hours))
    assert send(broker.client, {MESSAGE_ID: name, SCHEDULED_FOR: at}).status_code == 201
    return at


def test_messages_are_listed_by_status(broker: Broker) -> None:
    register(broker.client)
    register(broker.client, "other")
    send(broker.client, {MESSAGE_ID: "now"})
    schedule(broker, "one", 1)
    schedule(broker, "two", 2)
    send(broker.client, {MESSAGE_ID: "elsewhere"}, channel="other")
    for query, expected in (
        ("", ["two", "one", "now"]),
        ("?status=", ["two", "one", "now"]),
        ("?status=101", ["two", "one"]),
        ("?status=ACKNOWLEDGED", ["two", "one"]),
        ("?status=102", ["now"]),
        ("?status=DISPATCHED", ["now"]),
    ):
        assert ids(broker, f"{CHANNEL}/messages{query}") == expected
    broker.clock.advance(timedelta(minutes=61))
    assert ids(broker, f"{CHANNEL}/messages?status=101") == ["two"]
    assert ids(broker, f"{CHANNEL}/messages?status=102") == ["one", "now"]
    for status in ("103", "1", "queued", "101 OR 1=1", "١٠١"):
        assert faults(broker.client.get(f"{CHANNEL}/messages?status={status}", headers=ADMIN)) == ["status"]


def test_every_address_in_a_list_leads_to_its_message(broker: Broker) -> None:
    register(broker.client)
    send_batch(broker.client, *({"messageId": name} for name in ("a b", "%", "ü", "x")))
    schedule(broker, "later %", 1)
    for path in ("messages", "scheduled-messages"):
        for address in get(broker.client, f"{CHANNEL}/{path}")["result"]:
            assert broker.client.get(address, headers=ADMIN).status_code == 200


def test_counts_have_the_keys_that_clients_know_and_links_that_lead_there(broker: Broker) -> None:
    register(broker.client)
    nothing = get(broker.client, f"{CHANNEL}/messages-status")
    keys = ["ACKNOWLEDGED", "DISPATCHED", "SCHEDULED_SCHEDULED", "SCHEDULED_DISPATCHED"]
    assert [*nothing] == ["counts", "next_scheduled_message_at"]
    assert {key: one["Count"] for key, one in nothing["counts"].items()} == dict.fromkeys(keys, 0)
    assert nothing["next_scheduled_message_at"] is None
    send_batch(broker.client, {}, {})
    soonest = schedule(broker, "one", 1)
    next_one = schedule(broker, "two", 2)
    for minutes, numbers, at in ((0, (2, 2, 2, 0), soonest), (61, (1, 3, 1, 1), next_one), (60, (0, 4, 0, 2), None)):
        broker.clock.advance(timedelta(minutes=minutes))
        found = get(broker.client, f"{CHANNEL}/messages-status")
        assert tuple(found["counts"][key]["Count"] for key in keys) == numbers
        assert found["next_scheduled_message_at"] == at
        for key, number in zip(keys[:2], numbers[:2], strict=True):
            assert len(get(broker.client, found["counts"][key]["Links"]["messages"])["result"]) == number
        for key in keys[2:]:
            assert len(get(broker.client, found["counts"][key]["Links"]["messages"])["result"]) == 2


def test_a_scheduled_message_is_shown_as_those_who_scheduled_it_know_it(broker: Broker) -> None:
    register(broker.client)
    at = schedule(broker, "m", 1)
    found = get(broker.client, f"{CHANNEL}/scheduled-message/m")
    assert found.keys() >= {"id", "contentType", "priority", "producedBy", "payload", "headers", "receivedAt"}
    assert (found["messageId"], found["status"], found["payload"]) == ("m", "SCHEDULED", "hello")
    assert (found["dispatchSchedule"], found["dispatchedAt"]) == (at, None)
    broker.clock.advance(timedelta(hours=2))
    due = get(broker.client, f"{CHANNEL}/scheduled-message/m")
    assert (due["status"], due["dispatchSchedule"], due["dispatchedAt"]) == ("DISPATCHED", at, at)


def test_only_what_was_scheduled_is_a_scheduled_message(broker: Broker) -> None:
    register(broker.client)
    send(broker.client, {MESSAGE_ID: "plain"})
    for name in ("plain", "unknown"):
        for method in ("GET", "DELETE"):
            answer = broker.client.open(f"{CHANNEL}/scheduled-message/{name}", method=method, headers=ADMIN)
            assert code_of(answer) == (404, "not-found")
    assert ids(broker, f"{CHANNEL}/scheduled-messages") == []
    assert ids(broker, f"{CHANNEL}/messages") == ["plain"]


def test_scheduled_messages_are_listed_soonest_first_and_stay_listed_when_they_are_due(broker: Broker) -> None:
    register(broker.client)
    for name, hours in (("c", 3), ("a", 1), ("b", 2)):
        schedule(broker, name, hours)
    send(broker.client)
    assert ids(broker, f"{CHANNEL}/scheduled-messages") == ["a", "b", "c"]
    broker.clock.advance(timedelta(hours=2, minutes=1))
    assert ids(broker, f"{CHANNEL}/scheduled-messages") == ["a", "b", "c"]


def test_a_scheduled_message_can_be_taken_back_until_it_is_due(broker: Broker) -> None:
    register(broker.client, consumers=("one", "two"))
    empty = counts(broker)
    schedule(broker, "back", 1)
    schedule(broker, "stays", 1)
    place = f"{CHANNEL}/scheduled-message"
    gone = broker.client.delete(f"{place}/back", headers=ADMIN)
    assert (gone.status_code, gone.get_data(), gone.headers.get("Content-Type")) == (204, b"", None)
    assert counts(broker) == {**empty, "message": 1, "scheduled_message": 1, "job": 2}
    assert code_of(broker.client.delete(f"{place}/back", headers=ADMIN)) == (404, "not-found")
    assert broker.client.get(f"{CHANNEL}/message/back", headers=ADMIN).status_code == 404
    assert send(broker.client, {MESSAGE_ID: "back"}).status_code == 201
    broker.clock.advance(timedelta(hours=1, seconds=1))
    assert code_of(broker.client.delete(f"{place}/stays", headers=ADMIN)) == (409, "not-deletable")
    assert len(get(broker.client, f"{CHANNEL}/message/stays")["jobs"]) == 2


def test_a_scheduled_message_that_died_on_arrival_or_is_being_worked_on_cannot_be_taken_back(broker: Broker) -> None:
    register(broker.client)
    send_batch(broker.client, {"messageId": "dead", "scheduledFor": LATER, "hopCount": 99})
    place = f"{CHANNEL}/scheduled-message"
    assert code_of(broker.client.delete(f"{place}/dead", headers=ADMIN)) == (409, "not-deletable")
    schedule(broker, "claimed", 1)
    execute(broker, "UPDATE job SET status = 1002 WHERE status = 1001")
    assert code_of(broker.client.delete(f"{place}/claimed", headers=ADMIN)) == (409, "not-deletable")
    assert len(get(broker.client, f"{CHANNEL}/message/claimed")["jobs"]) == 1


def test_the_jobs_of_a_message_show_where_each_stands(broker: Broker) -> None:
    register(broker.client, consumers=("k",))
    put(broker.client, f"{CHANNEL}/consumer/k", name="Named", type="push", callbackUrl="http://a/")
    send(broker.client, {MESSAGE_ID: "m"})
    for change, status, state in (
        ("status = 1001", "QUEUED", "queued"),
        ("earliestNextAttemptAt = '2999-01-01 00:00:00.000000'", "QUEUED", "scheduled"),
        ("retryAttemptCount = 1", "QUEUED", "retrying"),
        ("status = 1002, earliestNextAttemptAt = NULL", "INFLIGHT", "inflight"),
        ("status = 1003", "DELIVERED", "delivered"),
        ("status = 1004", "DEAD", "dead"),
        ("status = 1005", "ARCHIVED", "archived"),
    ):
        execute(broker, f"UPDATE job SET {change}")
        (job,) = get(broker.client, f"{CHANNEL}/message/m")["jobs"]
        assert (job["status"], job["state"]) == (status, state)
        assert (job["listenerEndpoint"], job["listenerName"], job["consumerId"]) == ("http://a/", "Named", "k")


def test_an_unknown_message_is_not_found_and_a_bad_flag_is_named(broker: Broker) -> None:
    register(broker.client)
    send(broker.client, {MESSAGE_ID: "m"})
    for query in ("", "?raw=true"):
        assert code_of(broker.client.get(f"{CHANNEL}/message/unknown{query}", headers=ADMIN)) == (404, "not-found")
    assert faults(broker.client.get(f"{CHANNEL}/message/m?raw=maybe", headers=ADMIN)) == ["raw"]
    assert get(broker.client, f"{CHANNEL}/message/m?raw=false")["id"] == "m"
