"""What happens when a consumer has as many dead jobs as it may have."""

from datetime import timedelta

from tests.support.brokers import Broker
from tests.support.dying import Dying
from tests.support.engines import Hand
from tests.support.jobs import job, make_jobs
from tests.support.pull import drop, puller
from tests.support.rows import rows
from tests.support.states import checkpoint
from tests.support.target import Answer, Target


def summary(broker: Broker) -> tuple[int, int, int]:
    """dead_count, and died and archived for ever."""
    (row,) = rows(broker, "SELECT dead_count, died_total, archived_total FROM dlq_summary")
    return row["dead_count"], row["died_total"], row["archived_total"]


def test_by_default_more_may_die_than_there_is_room_for(broker: Broker, hand: Hand, target: Target) -> None:
    dying = Dying(broker, hand, target, dlqMaxSize=1)
    ids = dying.kill(3)
    assert sorted(dying.listed("dead")) == ids


def test_a_job_without_room_is_parked_and_dies_when_there_is_some(broker: Broker, hand: Hand, target: Target) -> None:
    dying = Dying(broker, hand, target, dlqMaxSize=1, dlqFullPolicy="reject")
    first, parked = dying.kill(2)
    assert (job(broker, first)["state"], job(broker, parked)["status"]) == ("dead", "QUEUED")
    broker.clock.advance(timedelta(seconds=61))
    hand.deliver()
    assert (job(broker, parked)["status"], len(target.received)) == ("QUEUED", 2)
    drop(broker, first)
    broker.clock.advance(timedelta(seconds=61))
    hand.deliver()
    found = job(broker, parked)
    assert (found["state"], found["deadReason"], found["error"]["type"]) == ("dead", "RETRIES_EXHAUSTED", "HTTP_500")
    assert len(target.received) == 2


def test_a_parked_job_is_not_pulled_and_dies_when_there_is_room(broker: Broker) -> None:
    client = puller(broker, dlqMaxSize=1, dlqFullPolicy="reject", maxRetries=0)
    first, parked, other = make_jobs(broker.client, 3)
    token, _ = client.lease(2)
    assert client.answer("retry", token, first) == ["dead"]
    assert client.answer("retry", token, parked) == ["parked"]
    client.pass_time(61)
    assert (client.queued(), client.step(parked, "INFLIGHT")) == ([other], 400)
    assert client.lease(10)[1] == [other]
    assert client.job(parked)["status"] == "QUEUED"
    drop(broker, first)
    client.pass_time(61)
    assert client.lease(10)[1] == []
    assert client.job(parked)["deadReason"] == "RETRIES_EXHAUSTED"


def test_the_oldest_dead_make_room_and_the_summary_knows(broker: Broker, hand: Hand, target: Target) -> None:
    dying = Dying(broker, hand, target, dlqMaxSize=2, dlqFullPolicy="archive_oldest")
    ids = dying.kill(3)
    assert (dying.listed("archived"), sorted(dying.listed("dead"))) == (ids[:1], ids[1:])
    checkpoint(broker)
    assert summary(broker) == (2, 3, 1)
    newer = dying.kill(1)
    assert sorted(dying.listed("dead")) == [ids[2], *newer]
    checkpoint(broker)
    assert summary(broker) == (2, 4, 2)


def test_what_is_discarded_takes_no_room(broker: Broker, hand: Hand, target: Target) -> None:
    dying = Dying(broker, hand, target, dlqMaxSize=1, dlqFullPolicy="archive_oldest", dlqStrategy="selective")
    kept = dying.kill()
    target.rule = lambda _: Answer(400)
    dying.kill()
    assert (dying.listed("dead"), dying.listed("archived")) == (kept, [])


def test_what_is_discarded_in_the_same_breath_takes_no_room(broker: Broker) -> None:
    client = puller(broker, dlqMaxSize=1, dlqFullPolicy="reject", dlqStrategy="selective", maxRetries=0)
    first, second = make_jobs(broker.client, 2)
    token, _ = client.lease(2)
    jobs = [{"id": first, "error": {"category": "VALIDATION"}}, {"id": second}]
    told = client.ask("retry", leaseToken=token, jobs=jobs)
    assert [one["result"] for one in told["results"]] == ["discarded", "dead"]
