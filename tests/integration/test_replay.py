"""Replay over HTTP: what is refused, the limit across chunks, the retained before the moved, and a target."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker.api import dead_letters
from broker.dlq.bookkeeper import Bookkeeper
from broker.operations import replay_preview
from tests.support import states
from tests.support.brokers import ADMIN, Broker, make_broker
from tests.support.calls import code_of, faults, get, put
from tests.support.dead import CONSUMER, DLQ, bury, call, listed
from tests.support.jobs import job, make_jobs
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

REPLAY = "/admin/dlq/consumer/replay"
GRAVES = "/channel/graves/consumer/dead-letters"


@pytest.fixture
def chunky(database_url: str) -> Iterator[Broker]:
    """350 dead in chunks of 100, of which a checkpoint has counted 230."""
    made = make_broker(database_url, dlq_chunk=100)
    bury(made, 350, counted=230)
    yield made
    made.parts.database.dispose()


def replay(broker: Broker, status: int = 202, **request: object) -> Any:
    return call(broker, "POST", REPLAY, status, json=request)


def done(broker: Broker, **request: Any) -> tuple[object, object]:
    told = replay(broker, **request)
    return told["replayedCount"], told["skippedCount"]


def move_all(broker: Broker) -> None:
    """The dead of the consumer go to its dead channel."""
    put(broker.client, "/channel/graves", token="graves-token")
    put(broker.client, CONSUMER, deadChannel="graves")
    call(broker, "POST", f"{DLQ}/move", 200)


def queued(broker: Broker, place: str = CONSUMER) -> list[str]:
    """Ids of the jobs that wait at a consumer, the oldest first."""
    found: list[str] = []
    address: str | None = f"{place}/jobs?state=queued&limit=100"
    while address is not None:
        page = get(broker.client, address)
        found += [one["id"] for one in page["result"]]
        address = page["pages"].get("next")
    return sorted(found)


def test_what_is_wrong_is_named_and_nothing_is_done(broker: Broker) -> None:
    bury(broker, 2)
    for body, field in (
        ({"limit": 0}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": 2.5}, "limit"),
        ({"limit": 1_000_000_001}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"limt": 5}, "limt"),
        ({"since": "yesterday"}, "since"),
        ({"until": 5}, "until"),
        ({"since": ""}, "since"),
        ({"category": "ODD"}, "category"),
        ({"fingerprint": "é"}, "fingerprint"),
        ({"dryRun": "yes"}, "dryRun"),
        ({"channel": "a/b"}, "channel"),
        ({"target": "consumer"}, "target"),
        ({"target": "a/b/c"}, "target"),
        ({"target": {"channelId": "channel"}}, "target"),
        ({"target": {"channelId": "channel", "consumerId": 5}}, "target"),
        ({"target": "channel/nobody"}, "target"),
    ):
        assert faults(broker.client.post(REPLAY, json=body, headers=ADMIN)) == [field], body
    assert faults(broker.client.post(f"{REPLAY}?limit=5", headers=ADMIN)) == ["limit"]
    twice = broker.client.post(f"{REPLAY}?channel=channel", json={"channel": "other"}, headers=ADMIN)
    assert faults(twice) == ["channel"]
    for unknown in ("/admin/dlq/nobody/replay", f"{REPLAY}?channel=nowhere"):
        assert code_of(broker.client.post(unknown, headers=ADMIN)) == (404, "not-found")
    assert len(listed(broker)) == 2
    assert get(broker.client, "/admin/operations")["result"] == []


def test_an_id_that_several_channels_know_needs_the_channel(broker: Broker) -> None:
    bury(broker, 2)
    register(broker.client, "another", ("consumer",))
    refused = broker.client.post(REPLAY, headers=ADMIN)
    assert faults(refused) == ["channel"]
    assert "in another, channel" in refused.text
    told = call(broker, "POST", f"{REPLAY}?channel=channel", 202)
    assert (told["replayedCount"], told["operation"]["channelId"]) == (2, "channel")
    assert done(broker, channel="another") == (0, 0)


def test_the_limit_is_exact_across_chunks_and_the_oldest_go_first(chunky: Broker) -> None:
    ids = listed(chunky, "order=oldest")
    told = replay(chunky, limit=257)
    assert (told["replayedCount"], told["operation"]["total"], told["operation"]["limit"]) == (257, 257, 257)
    assert listed(chunky, "order=oldest") == ids[257:]
    assert assert_exact(chunky.parts) == 93
    assert done(chunky, limit=1) == (1, 0)
    assert done(chunky, limit=1000) == (92, 0)
    assert assert_exact(chunky.parts) == 0
    states.checkpoint(chunky)
    assert audit(chunky.parts).good


def test_the_limit_counts_those_that_meet_the_conditions(chunky: Broker) -> None:
    ids = listed(chunky, "order=oldest")
    wanted = ids[::3]
    states.change(chunky, wanted, errorCategory="NETWORK")
    assert replay(chunky, 200, dryRun=True, category="NETWORK")["replayable"] == len(wanted)
    assert done(chunky, limit=70, category="NETWORK")[0] == 70
    assert queued(chunky) == sorted(wanted[:70])
    assert assert_exact(chunky.parts) == 280


def test_a_limit_holds_when_an_operation_goes_on_in_the_background(
    chunky: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "ANSWER_SECONDS", 0.0)
    told = replay(chunky, limit=250)
    assert told["replayedCount"] == 100
    Bookkeeper(chunky.parts).step()
    operation = get(chunky.client, told["operation"]["operationUrl"])
    assert (operation["state"], operation["done"], assert_exact(chunky.parts)) == ("done", 250, 100)


def test_the_retained_go_before_the_moved_and_the_limit_is_for_both(chunky: Broker) -> None:
    move_all(chunky)
    moved = [job(chunky, one)["origin"]["jobId"] for one in queued(chunky, GRAVES)]
    retained = make_jobs(chunky.client, 3)
    states.die(chunky, *retained)
    told = replay(chunky, 200, dryRun=True, limit=5)
    assert {name: told[name] for name in ("replayable", "retained", "moved")} == {
        "replayable": 5, "retained": 3, "moved": 350,
    }  # fmt: skip
    assert done(chunky, limit=153) == (153, 0)
    assert set(retained) < set(queued(chunky))
    left = [job(chunky, one)["origin"]["jobId"] for one in queued(chunky, GRAVES)]
    assert sorted(left) == sorted(moved)[150:]
    assert done(chunky) == (200, 0)
    assert (len(queued(chunky)), queued(chunky, GRAVES), assert_exact(chunky.parts)) == (353, [], 0)


def test_who_is_leased_dead_or_done_in_the_dead_channel_stays_there(broker: Broker) -> None:
    bury(broker, 6, counted=2)
    move_all(broker)
    leased, dead, delivered, *others = queued(broker, GRAVES)
    states.take(broker, leased)
    states.die(broker, dead)
    states.finish(broker, delivered)
    told = replay(broker, 200, dryRun=True)
    assert (told["replayable"], told["leftAlone"]) == (3, {"inflight": 1, "dead": 1})
    assert done(broker) == (3, 2)
    statuses = [job(broker, one)["status"] for one in (leased, dead, delivered)]
    assert statuses == ["INFLIGHT", "DEAD", "DELIVERED"]
    for one in others:
        assert code_of(broker.client.get(f"/admin/job/{one}", headers=ADMIN)) == (404, "not-found")
    assert assert_exact(broker.parts) == 1


def test_since_and_until_ask_when_it_died_and_not_when_it_was_moved(broker: Broker) -> None:
    (first,) = bury(broker, 1)
    died_at = job(broker, first)["deadAt"]
    move_all(broker)
    (moved,) = queued(broker, GRAVES)
    assert job(broker, moved)["origin"]["failedAt"] == died_at
    assert replay(broker, 200, dryRun=True, since=died_at, until=died_at)["moved"] == 1
    assert done(broker, until=died_at) == (1, 0)
    (again,) = queued(broker)
    assert job(broker, again)["origin"]["failedAt"] == died_at


def test_a_target_gets_the_retained_and_the_moved_each_with_its_message(broker: Broker) -> None:
    (first,) = bury(broker, 1)
    move_all(broker)
    states.die(broker, *make_jobs(broker.client, 2))
    register(broker.client, "elsewhere", ("other",))
    told = replay(broker, target={"channelId": "elsewhere", "consumerId": "other"})
    assert told["replayedCount"] == 3
    arrived = [job(broker, one) for one in queued(broker, "/channel/elsewhere/consumer/other")]
    assert {one["channelId"] for one in arrived} == {"elsewhere"}
    assert {one["replayCount"] for one in arrived} == {1}
    assert sorted(one["origin"]["consumerId"] for one in arrived) == ["consumer", "consumer", "dead-letters"]
    assert all("replayed" in [event["event"] for event in one["history"]] for one in arrived)
    assert (queued(broker), queued(broker, GRAVES), assert_exact(broker.parts)) == ([], [], 0)
    (standing,) = get(broker.client, "/dlq-status?channel=channel")["consumers"]
    assert standing["totals"] == {"died": 3, "requeued": 0, "deleted": 0, "archived": 0, "moved": 3}
    assert len(first) == 20


def test_the_built_in_consumer_of_a_dead_channel_is_no_target(broker: Broker) -> None:
    bury(broker, 1)
    move_all(broker)
    assert faults(broker.client.post(REPLAY, json={"target": "graves/dead-letters"}, headers=ADMIN)) == ["target"]
    assert done(broker, target="channel/consumer") == (1, 0)
    assert len(queued(broker)) == 1


def test_a_message_that_its_channel_has_no_more_comes_along_as_a_copy(broker: Broker) -> None:
    bury(broker, 1)
    move_all(broker)
    states.lose_messages(broker, "channel")
    assert done(broker) == (1, 0)
    (again,) = [job(broker, one) for one in queued(broker)]
    message = get(broker.client, again["messageUrl"])
    assert [one["id"] for one in message["jobs"]] == [again["id"]]
    assert message["payload"]


def test_a_dry_run_that_is_not_complete_says_so(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    bury(broker, 30)
    monkeypatch.setattr(replay_preview, "LOOKED_AT_MOST", 20)
    told = replay(broker, 200, dryRun=True, category="TRANSIENT")
    assert (told["replayable"], told["complete"]) == (20, False)
    told = replay(broker, 200, dryRun=True)
    assert (told["replayable"], told["complete"]) == (30, True)
