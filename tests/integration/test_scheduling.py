"""Messages for later: they wait for their time, and expire by the nearest rule."""

from datetime import datetime, timedelta

from broker.domain.times import show_time
from tests.support.brokers import Broker, make_broker
from tests.support.calls import MESSAGE_ID, SCHEDULED_FOR, get, parsed, put, send, send_batch
from tests.support.rows import count, jobs
from tests.support.walk import register

EXPIRES_AT = "X-Broker-Expires-At"


def as_stored(shown: str) -> str:
    return shown.replace("T", " ").removesuffix("Z")


def test_a_scheduled_message_waits_for_its_time(broker: Broker) -> None:
    register(broker.client)
    at = broker.clock.now() + timedelta(hours=1)
    sent = send(broker.client, {MESSAGE_ID: "m", SCHEDULED_FOR: show_time(at)})
    assert sent.headers["Location"] == "/channel/channel/scheduled-message/m"
    waiting = get(broker.client, "/channel/channel/message/m")
    assert (waiting["status"], waiting["dispatchedAt"], waiting["scheduledFor"]) == (
        "ACKNOWLEDGED",
        None,
        show_time(at),
    )
    assert waiting["jobs"][0]["state"] == "scheduled"
    assert jobs(broker)[0]["earliestNextAttemptAt"] == as_stored(show_time(at)) == jobs(broker)[0]["deliverAt"]
    broker.clock.advance(timedelta(hours=1, seconds=1))
    due = get(broker.client, "/channel/channel/message/m")
    assert (due["status"], due["dispatchedAt"], due["jobs"][0]["state"]) == ("DISPATCHED", show_time(at), "queued")


def test_scheduling_too_close_or_into_the_past_is_too_soon(database_url: str) -> None:
    broker = make_broker(database_url, schedule_min_ahead="10m")
    register(broker.client)
    for minutes, status in ((-60, 412), (0, 412), (9, 412), (11, 201)):
        at = show_time(broker.clock.now() + timedelta(minutes=minutes))
        answer = send(broker.client, {SCHEDULED_FOR: at})
        assert answer.status_code == status, minutes
        assert status == 201 or parsed(answer)["code"] == "too-soon"
        assert send_batch(broker.client, {"scheduledFor": at})["results"][0]["status"] == status
    assert count(broker, "message") == 2
    broker.parts.database.dispose()


def test_times_are_taken_with_any_offset_and_kept_to_the_microsecond(broker: Broker) -> None:
    register(broker.client)
    for given, shown in (
        ("2999-01-01T12:00:00.123456789Z", "2999-01-01T12:00:00.123456Z"),
        ("2999-01-01t14:30:00.5+02:30", "2999-01-01T12:00:00.500000Z"),
        ("9998-12-31T23:59:59Z", "9998-12-31T23:59:59.000000Z"),
    ):
        assert (
            get(broker.client, send(broker.client, {SCHEDULED_FOR: given}).headers["Location"])["dispatchSchedule"]
            == shown
        )
        assert get(broker.client, send(broker.client, {EXPIRES_AT: given}).headers["Location"])["expiresAt"] == shown


def test_an_expiry_comes_from_the_message_else_the_consumer_else_the_channel_else_the_broker(database_url: str) -> None:
    broker = make_broker(database_url, expire_after="4h")
    register(broker.client, consumers=("own", "never", "inherits"))
    put(broker.client, "/channel/channel/consumer/own", expireAfter="1h")
    put(broker.client, "/channel/channel/consumer/never", expireAfter="none")
    at = datetime.fromisoformat("2999-01-01T00:00:00+00:00")

    def expiries(**item: str) -> list[str | None]:
        send_batch(broker.client, {"scheduledFor": show_time(at), **item})
        return [job["expiresAt"] for job in jobs(broker)[-3:]]

    def after(hours: int) -> str:
        return as_stored(show_time(at + timedelta(hours=hours)))

    assert expiries() == [after(1), None, after(4)]
    put(broker.client, "/channel/channel", expireAfter="2h")
    assert expiries() == [after(1), None, after(2)]
    assert expiries(expiresAt=show_time(at + timedelta(hours=3))) == [after(3)] * 3
    put(broker.client, "/channel/channel", expireAfter="3650d")
    assert expiries(scheduledFor="9998-06-01T00:00:00Z") == ["9998-06-01 01:00:00.000000", None, None]
    broker.parts.database.dispose()
