"""All dead jobs of a consumer over HTTP: requeued, deleted, archived, moved; and the operations that do it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from broker.api import dead_letters
from broker.dlq.bookkeeper import Bookkeeper
from tests.support import states
from tests.support.brokers import ADMIN, Broker, make_broker, wait_until
from tests.support.calls import code_of, faults, get, parsed, put
from tests.support.dead import CONSUMER, DLQ, TOKENS, bury, call, dead_count, totals
from tests.support.jobs import act, job, make_jobs
from tests.support.walk import register

CHANNEL_ONLY = {"X-Broker-Channel-Token": "channel-token"}
ACTS = {
    "requeue": ("POST", DLQ, 202, "requeuedCount", "requeued"),
    "delete": ("DELETE", DLQ, 200, "deletedCount", "deleted"),
    "archive": ("POST", f"{DLQ}/archive", 200, "archivedCount", "archived"),
    "move": ("POST", f"{DLQ}/move", 200, "movedCount", "moved"),
}
EVERY_ACT = pytest.mark.parametrize("name", ACTS)
LEFT = {"requeue": "QUEUED", "archive": "ARCHIVED"}


def give_dead_channel(broker: Broker) -> None:
    put(broker.client, "/channel/graveyard", token="graveyard-token")
    put(broker.client, CONSUMER, deadChannel="graveyard")


def dead_of_consumer(broker: Broker) -> int:
    """The consumer may have a neighbour in the dead channel."""
    (standing,) = get(broker.client, "/dlq-status?channel=channel")["consumers"]
    assert standing["deadCount"] == states.dead_by_hand(broker)
    return int(standing["deadCount"])


@EVERY_ACT
def test_an_act_on_all_tells_how_many_and_the_summary_is_right_at_once(broker: Broker, name: str) -> None:
    method, path, status, count, total = ACTS[name]
    ids = bury(broker, 5, counted=3)
    give_dead_channel(broker)
    told = call(broker, method, path, status)
    operation = told.pop("operation")
    assert told == {count: 5, "skippedCount": 0}
    assert {key: operation[key] for key in ("act", "state", "total", "done", "skipped", "actor", "filter")} == {
        "act": name, "state": "done", "total": 5, "done": 5, "skipped": 0, "actor": "admin", "filter": {}
    }  # fmt: skip
    assert get(broker.client, operation["operationUrl"]) == operation
    assert dead_of_consumer(broker) == 0
    (standing,) = get(broker.client, "/dlq-status?channel=channel")["consumers"]
    assert standing["totals"] == {"died": 5, "requeued": 0, "deleted": 0, "archived": 0, "moved": 0, total: 5}
    if name in LEFT:
        assert {job(broker, one)["status"] for one in ids} == {LEFT[name]}
    else:
        assert broker.client.get(f"/admin/job/{ids[0]}", headers=ADMIN).status_code == 404
    assert call(broker, method, path, status)[count] == 0


@EVERY_ACT
def test_an_act_takes_only_those_that_meet_the_conditions(broker: Broker, name: str) -> None:
    method, path, status, count, _ = ACTS[name]
    ids = bury(broker, 4, counted=2)
    states.change(broker, ids[:3], errorCategory="NETWORK", errorText="100% of db_1 is full")
    states.change(broker, ids[1:], errorType="REFUSED")
    give_dead_channel(broker)
    told = call(broker, method, f"{path}?category=NETWORK&errorType=REFUSED&text=%25%20of%20db_", status)
    assert (told[count], told["skippedCount"], told["operation"]["total"]) == (2, 2, None)
    assert told["operation"]["filter"] == {"category": "NETWORK", "errorType": "REFUSED", "text": "% of db_"}
    assert [one["id"] for one in get(broker.client, f"{DLQ}?order=oldest")["deadJobs"]] == [ids[0], ids[3]]
    assert dead_of_consumer(broker) == 2


@EVERY_ACT
def test_a_condition_that_is_wrong_or_not_known_is_refused_and_nothing_is_done(broker: Broker, name: str) -> None:
    method, path, _, _, _ = ACTS[name]
    bury(broker, 2)
    give_dead_channel(broker)
    for query, field in (
        ("category=ODD", "category"),
        ("reason=odd", "reason"),
        ("diedAfter=yesterday", "diedAfter"),
        ("text=" + "x" * 201, "text"),
        ("categry=NETWORK", "categry"),
    ):
        assert faults(broker.client.open(f"{path}?{query}", method=method, headers=ADMIN)) == [field]
    assert dead_of_consumer(broker) == 2
    assert get(broker.client, "/admin/operations")["result"] == []


@EVERY_ACT
def test_an_act_on_all_needs_the_admin_or_both_tokens(broker: Broker, name: str) -> None:
    method, path, status, count, _ = ACTS[name]
    bury(broker, 1)
    give_dead_channel(broker)
    assert code_of(broker.client.open(path, method=method)) == (401, "unauthorized")
    assert code_of(broker.client.open(path, method=method, headers=CHANNEL_ONLY)) == (401, "unauthorized")
    for wrong in ({"X-Broker-Channel-Token": "x"}, {"X-Broker-Consumer-Token": "x"}):
        assert code_of(broker.client.open(path, method=method, headers={**TOKENS, **wrong})) == (403, "forbidden")
    for unknown in (path.replace("/consumer/consumer", "/consumer/x"), path.replace("/channel/channel", "/channel/x")):
        assert code_of(broker.client.open(unknown, method=method, headers=ADMIN)) == (404, "not-found")
    answer = broker.client.open(path, method=method, headers=TOKENS)
    assert answer.status_code == status
    assert (parsed(answer)[count], parsed(answer)["operation"]["actor"]) == (1, "consumer")


def test_a_requeue_takes_the_consumers_token_from_its_form(broker: Broker) -> None:
    bury(broker, 2)
    for headers, form, status in (
        (CHANNEL_ONLY, {"requeue": "wrong"}, 403),
        (TOKENS, {"requeue": "wrong"}, 403),
        (CHANNEL_ONLY, {"requeue": ""}, 401),
        (CHANNEL_ONLY, {}, 401),
        ({}, {"requeue": "consumer-token"}, 401),
        ({"X-Broker-Channel-Token": "wrong"}, {"requeue": "consumer-token"}, 403),
    ):
        assert broker.client.post(DLQ, data=form, headers=headers).status_code == status
    assert faults(broker.client.post(DLQ, data={"again": "x"}, headers=ADMIN)) == ["again"]
    assert faults(broker.client.post(DLQ, json={"requeue": 5}, headers=ADMIN)) == ["requeue"]
    assert faults(broker.client.post(DLQ, json={"token": "x"}, headers=ADMIN)) == ["token"]
    assert code_of(broker.client.post(DLQ, data="x", content_type="text/plain", headers=ADMIN))[0] == 415
    large = {"requeue": "x" * 200_000}
    assert code_of(broker.client.post(DLQ, data=large, headers=ADMIN)) == (413, "too-large")
    assert dead_count(broker) == 2
    answer = broker.client.post(DLQ, data={"requeue": "consumer-token"}, headers=CHANNEL_ONLY)
    assert (answer.status_code, parsed(answer)["requeuedCount"]) == (202, 2)
    assert dead_count(broker) == 0


def test_a_purge_leaves_what_an_operator_killed_unless_forced(broker: Broker) -> None:
    ids = bury(broker, 2)
    killed = make_jobs(broker.client, 1)[0]
    act(broker.client, "fail", killed)
    told = call(broker, "DELETE", DLQ, 200)
    assert (told["deletedCount"], told["skippedCount"]) == (2, 1)
    assert dead_count(broker) == 1
    assert job(broker, killed)["deadReason"] == "FORCED"
    assert faults(broker.client.delete(f"{DLQ}?force=2", headers=ADMIN)) == ["force"]
    told = call(broker, "DELETE", f"{DLQ}?force=true", 200)
    assert (told["deletedCount"], told["operation"]["force"], dead_count(broker)) == (1, True, 0)
    assert len(ids) == 2


def test_without_a_dead_channel_nothing_can_be_moved(broker: Broker) -> None:
    bury(broker, 1)
    assert faults(broker.client.post(f"{DLQ}/move", headers=ADMIN)) == ["deadChannel"]
    assert dead_count(broker) == 1


@pytest.fixture
def large(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """250 dead, a hundred in a chunk, and no time to work on more than one of them before the answer."""
    monkeypatch.setattr(dead_letters, "ANSWER_SECONDS", 0.0)
    made = make_broker(database_url, dlq_chunk=100)
    bury(made, 250, counted=120)
    yield made
    made.parts.database.dispose()


@pytest.mark.parametrize("name", ["requeue", "delete", "archive"])
def test_a_large_act_is_answered_before_it_is_done_and_goes_on_in_the_background(large: Broker, name: str) -> None:
    method, path, _, count, _ = ACTS[name]
    told = call(large, method, path, 202)
    assert (told[count], told["operation"]["state"], told["operation"]["total"]) == (100, "running", 250)
    assert dead_count(large) == 150
    Bookkeeper(large.parts).step()
    operation = get(large.client, told["operation"]["operationUrl"])
    assert (operation["state"], operation["done"], dead_count(large)) == ("done", 250, 0)


def test_an_operation_can_be_stopped_and_what_is_done_stays_done(large: Broker) -> None:
    place = call(large, "DELETE", DLQ, 202)["operation"]["operationUrl"]
    assert code_of(large.client.post(f"{place}/cancel")) == (401, "unauthorized")
    answer = large.client.post(f"{place}/cancel", headers=TOKENS)
    assert (answer.status_code, parsed(answer)["state"], parsed(answer)["done"]) == (200, "cancelled", 100)
    Bookkeeper(large.parts).step()
    assert call(large, "POST", f"{place}/cancel", 200) == get(large.client, place) == parsed(answer)
    assert dead_count(large) == 150
    assert totals(large) == {"died": 250, "requeued": 0, "deleted": 100, "archived": 0, "moved": 0}


def test_an_operation_is_its_consumers_own(broker: Broker) -> None:
    bury(broker, 1)
    register(broker.client, consumers=("other",))
    place = call(broker, "DELETE", DLQ, 200)["operation"]["operationUrl"]
    other = {**TOKENS, "X-Broker-Consumer-Token": "other-token"}
    for suffix, method in (("", "GET"), ("/cancel", "POST")):
        elsewhere = place.replace("/consumer/consumer/", "/consumer/other/") + suffix
        assert code_of(broker.client.open(elsewhere, method=method, headers=other)) == (404, "not-found")
        assert code_of(broker.client.open(place + suffix, method=method, headers=other)) == (403, "forbidden")
        assert code_of(broker.client.open(place + suffix, method=method)) == (401, "unauthorized")
        for unknown in ("nonsense", broker.parts.ids.new(), "%25"):
            path = f"{CONSUMER}/operation/{unknown}{suffix}"
            assert code_of(broker.client.open(path, method=method, headers=ADMIN)) == (404, "not-found")


def test_operations_are_listed_newest_first_and_page_by_page(broker: Broker) -> None:
    bury(broker, 1)
    made = [call(broker, "DELETE", DLQ, 200)["operation"] for _ in range(5)]
    assert get(broker.client, "/admin/operations")["result"] == made[::-1]
    pages = [get(broker.client, "/admin/operations?limit=2")]
    while "next" in pages[-1]["pages"]:
        pages.append(get(broker.client, pages[-1]["pages"]["next"]))
    assert [one["id"] for page in pages for one in page["result"]] == [one["id"] for one in made[::-1]]
    assert get(broker.client, pages[2]["pages"]["previous"])["result"] == pages[1]["result"]
    assert code_of(broker.client.get("/admin/operations?next=nonsense", headers=ADMIN)) == (400, "invalid-cursor")
    assert faults(broker.client.get("/admin/operations?limit=0", headers=ADMIN)) == ["limit"]
    assert code_of(broker.client.get("/admin/operations", headers=TOKENS)) == (401, "unauthorized")


def test_acts_that_race_each_other_share_the_dead_between_them(broker: Broker) -> None:
    """Every dead job is in the count of exactly one of them, and nothing is left in the summary."""
    bury(broker, 60, counted=30)
    calls = [("POST", DLQ), ("DELETE", DLQ), ("POST", f"{DLQ}/archive"), ("DELETE", DLQ)]
    with ThreadPoolExecutor(len(calls)) as pool:
        answers = list(pool.map(lambda one: broker.client.open(one[1], method=one[0], headers=ADMIN), calls))
    told = [parsed(answer) for answer in answers]
    wait_until(lambda: _finished(broker), 20)
    done = [get(broker.client, one["operation"]["operationUrl"])["done"] for one in told]
    assert (sum(done), dead_count(broker)) == (60, 0)
    assert totals(broker) == {
        "died": 60,
        "requeued": done[0],
        "deleted": done[1] + done[3],
        "archived": done[2],
        "moved": 0,
    }


def _finished(broker: Broker) -> bool:
    Bookkeeper(broker.parts).step()
    return all(one["state"] == "done" for one in get(broker.client, "/admin/operations")["result"])


def test_one_jobs_requeue_and_delete_race_and_one_of_them_wins(broker: Broker) -> None:
    for job_id in bury(broker, 6, counted=3):
        calls = [("POST", f"{CONSUMER}/job/{job_id}/requeue-dead-job"), ("DELETE", f"{CONSUMER}/job/{job_id}")]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda one: broker.client.open(one[1], method=one[0], headers=TOKENS), calls))
        assert tuple(answer.status_code for answer in answers) in ((202, 404), (404, 204))
    counts = totals(broker)
    assert (counts["requeued"] + counts["deleted"], counts["died"], dead_count(broker)) == (6, 6, 0)
