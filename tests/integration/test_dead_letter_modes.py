"""Where dying jobs go: kept, moved to a dead channel, or discarded."""

from datetime import timedelta

import pytest

from broker.operations.settling import MOST_COUNTED
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import put, send
from tests.support.dying import Dying, dead_channel
from tests.support.engines import Hand
from tests.support.jobs import job, make_jobs
from tests.support.rows import count, rows, value
from tests.support.states import come_from
from tests.support.target import Answer, Target


def test_a_moved_job_leaves_its_consumer_and_appears_in_the_dead_channel(
    broker: Broker, hand: Hand, target: Target
) -> None:
    put(broker.client, "/channel/dead")
    dying = Dying(broker, hand, target, deadLetterMode="move", deadChannel="dead")
    (source,) = dying.kill(payload="precious", messageId="m1", priority=7)
    (moved,) = dead_channel(broker)
    found = job(broker, moved)
    assert (dying.listed(), moved != source) == ([], True)
    assert (found["state"], found["retryAttemptCount"], found["priority"]) == ("queued", 0, 7)
    origin = {name: found["origin"][name] for name in ("jobId", "channelId", "consumerId", "messageId", "retryCount")}
    assert origin == {
        "jobId": source,
        "channelId": "channel",
        "consumerId": "pushed",
        "messageId": "m1",
        "retryCount": 0,
    }
    assert (found["origin"]["errorType"], found["origin"]["errorText"]) == ("HTTP_500", "HTTP 500 no")
    assert [one["event"] for one in found["history"]] == ["failed", "moved"]


def test_a_moved_job_can_be_pulled_with_its_payload(broker: Broker, hand: Hand, target: Target) -> None:
    put(broker.client, "/channel/dead")
    Dying(broker, hand, target, deadLetterMode="move", deadChannel="dead").kill(payload="precious", contentType="a/b")
    answer = broker.client.post("/channel/dead/consumer/dead-letters/lease", json={}, headers=ADMIN)
    (leased,) = answer.get_json()["jobs"]
    assert (leased["message"]["payload"], leased["message"]["contentType"]) == ("precious", "a/b")


def test_the_channels_dead_channel_is_used_when_the_consumer_has_none(
    broker: Broker, hand: Hand, target: Target
) -> None:
    put(broker.client, "/channel/dead")
    dying = Dying(broker, hand, target)
    put(broker.client, "/channel/channel", deadChannel="dead", deadLetterMode="move")
    dying.kill()
    assert (len(dead_channel(broker)), dying.listed()) == (1, [])


def test_a_second_arrival_is_ignored(broker: Broker, hand: Hand, target: Target) -> None:
    put(broker.client, "/channel/dead")
    dying = Dying(broker, hand, target, deadLetterMode="move", deadChannel="dead")
    send(broker.client, channel="channel")
    (source,) = dying.listed()
    put(broker.client, "/channel/dead", token="channel-token")
    (there,) = make_jobs(broker.client, 1, channel="dead")
    come_from(broker, there, source)
    hand.deliver()
    assert (dead_channel(broker), dying.listed()) == ([there], [])


def test_a_dead_channel_is_made_by_the_template_where_none_is_set(broker: Broker, hand: Hand, target: Target) -> None:
    dying = Dying(broker, hand, target, deadLetterMode="move")
    dying.kill(2)
    assert len(dead_channel(broker, "dlq.broker.pushed")) == 2
    assert dying.configure()["deadChannel"] == "dlq.broker.pushed"


def test_the_dead_of_a_dead_channel_stay_where_they_are(broker: Broker, hand: Hand, target: Target) -> None:
    put(broker.client, "/channel/dead", deadLetterMode="move")
    Dying(broker, hand, target, deadLetterMode="move", deadChannel="dead").kill()
    path = "/channel/dead/consumer/dead-letters"
    leased = broker.client.post(f"{path}/lease", json={}, headers=ADMIN).get_json()
    jobs = [{"id": leased["jobs"][0]["id"], "dead": True}]
    answer = broker.client.post(f"{path}/retry", json={"leaseToken": leased["leaseToken"], "jobs": jobs}, headers=ADMIN)
    assert answer.get_json()["results"][0]["result"] == "dead"
    assert job(broker, jobs[0]["id"])["deadReason"] == "REJECTED"


def test_where_no_dead_channel_can_be_made_the_dead_are_retained(broker: Broker, hand: Hand, target: Target) -> None:
    dying = Dying(broker, hand, target, deadLetterMode="move")
    put(broker.client, "/channel/other", deadChannel="channel")
    dying.kill()
    (dead,) = dying.listed("dead")
    assert job(broker, dead)["deadReason"] == "RETRIES_EXHAUSTED"


def test_a_discarded_job_is_gone_and_the_log_tells(
    broker: Broker, hand: Hand, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    dying = Dying(broker, hand, target, deadLetterMode="discard")
    (gone,) = dying.kill()
    assert (count(broker, "job"), count(broker, "job_event")) == (0, 0)
    assert f"job {gone} was discarded: RETRIES_EXHAUSTED, HTTP_500" in caplog.text


@pytest.mark.parametrize(
    ("strategy", "transient", "hopeless"),
    [("automatic", True, True), ("selective", True, False), ("manual", False, False), ("disabled", False, False)],
)
def test_the_strategy_decides_which_dead_are_kept(
    broker: Broker, hand: Hand, target: Target, strategy: str, transient: bool, hopeless: bool
) -> None:
    dying = Dying(broker, hand, target, dlqStrategy=strategy)
    (first,) = dying.kill()
    target.rule = lambda _: Answer(400)
    (second,) = dying.kill()
    assert [first in dying.listed("dead"), second in dying.listed("dead")] == [transient, hopeless]
    assert count(broker, "job") == transient + hopeless


def test_the_count_of_retries_does_not_overflow(broker: Broker, hand: Hand, target: Target) -> None:
    dying = Dying(broker, hand, target, maxRetries=-1, retryPolicy="fixed", retryBase=60)
    dying.kill()
    broker.parts.database.write(
        "test", lambda c: c.exec_driver_sql(f"UPDATE job SET retryAttemptCount = {MOST_COUNTED}")
    )
    broker.clock.advance(timedelta(minutes=2))
    hand.deliver()
    assert len(target.received) == 2
    assert rows(broker, "SELECT retryAttemptCount AS n FROM job")[0]["n"] == MOST_COUNTED
    assert value(broker, "SELECT status FROM job") == 1001
