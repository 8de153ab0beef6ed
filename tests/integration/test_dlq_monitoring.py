"""What monitoring reads about jobs and the dead over HTTP, and the audit."""

from datetime import timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest

from broker.dlq.checkpointer import Checkpointer
from broker.domain.states import JobStatus
from broker.domain.times import parse_time, show_time
from broker.operations import dlq_statistics, job_status
from tests.support import states
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, get, parsed, put
from tests.support.dead import CONSUMER, DLQ, bury, call
from tests.support.jobs import act, make_jobs
from tests.support.rows import execute
from tests.support.walk import register

WATCHED = ("/dlq-status", "/job-status", "/dlq-stats", "/dlq-history")
NOTHING = {"count": 0, "exact": True, "oldest": None, "newest": None}


def by_status(broker: Broker, query: str = "") -> dict[str, Any]:
    """The tallies of the consumer by their status."""
    found = get(broker.client, f"/job-status{query}")["channel"]["consumer"]
    return {one.pop("status"): one for one in found}


def test_consumers_are_told_with_their_names_and_figures(broker: Broker) -> None:
    register(broker.client)
    put(broker.client, "/channel/channel", name="The Channel")
    put(broker.client, CONSUMER, name="The Consumer", dlqMaxSize=40)
    ids = make_jobs(broker.client, 4)
    states.die(broker, *ids[:3])
    states.checkpoint(broker)
    states.die(broker, ids[3])
    (shown,) = get(broker.client, "/dlq-status")["consumers"]
    assert shown.pop("oldestDeadAt") <= shown.pop("lastCheckedAt")
    assert shown == {
        "channelId": "channel", "channelName": "The Channel", "consumerId": "consumer", "consumerName": "The Consumer",
        "deadCount": 4, "checkpointedCount": 3, "diedLastHour": 4, "maxSize": 40, "utilizationPercent": 10.0,
        "totals": {"died": 4, "requeued": 0, "deleted": 0, "archived": 0, "moved": 0}, "drift": 0, "auditedAt": None,
        "deadLetterQueueUrl": DLQ,
    }  # fmt: skip


def test_the_answer_has_the_time_of_the_database_from_which_ages_are_told(broker: Broker) -> None:
    bury(broker, 1)
    broker.clock.advance(timedelta(hours=2))
    told = get(broker.client, "/dlq-status")
    age = parse_time("asOf", told["asOf"]) - parse_time("oldestDeadAt", told["consumers"][0]["oldestDeadAt"])
    assert timedelta(hours=2) <= age < timedelta(hours=2, minutes=1)


def test_answers_can_be_narrowed_to_a_channel_and_a_consumer(broker: Broker) -> None:
    for channel in ("a", "b"):
        register(broker.client, channel, ("one", "two"))
        act(broker.client, "fail", *make_jobs(broker.client, 1, channel))
    Checkpointer(broker.parts).run(force=True)
    broker.clock.advance(timedelta(seconds=60))
    Checkpointer(broker.parts).run(force=True)
    for query, pairs in (
        ("", [("a", "one"), ("a", "two"), ("b", "one"), ("b", "two")]),
        ("?channel=&consumer=", [("a", "one"), ("a", "two"), ("b", "one"), ("b", "two")]),
        ("?channel=a", [("a", "one"), ("a", "two")]),
        ("?consumer=two", [("a", "two"), ("b", "two")]),
        ("?channel=b&consumer=one", [("b", "one")]),
        ("?channel=unknown", []),
        ("?channel=%25", []),
    ):
        shown = get(broker.client, f"/dlq-status{query}")["consumers"]
        assert [(one["channelId"], one["consumerId"]) for one in shown] == pairs
        counts = get(broker.client, f"/job-status{query}")
        assert [(channel, consumer) for channel, found in counts.items() for consumer in found] == pairs
        assert get(broker.client, f"/dlq-stats{query}")["queue_size"] == len(pairs)
        lines = get(broker.client, f"/dlq-history{query}")["history"]
        assert {(one["channelId"], one["consumerId"]) for one in lines} == set(pairs)
    for path in WATCHED:
        assert faults(broker.client.get(f"{path}?channel=a/b&consumer=x")) == ["channel"]


def test_jobs_are_counted_by_status_with_the_oldest_and_the_newest_change(broker: Broker) -> None:
    register(broker.client)
    assert by_status(broker) == {status.name: NOTHING for status in JobStatus}
    ids = make_jobs(broker.client, 9)
    states.take(broker, ids[0])
    states.take(broker, ids[1], shared=True)
    states.finish(broker, *ids[2:4])
    states.finish(broker, ids[4], status=JobStatus.ARCHIVED)
    states.wait_out_a_retry(broker, ids[5])
    states.die(broker, ids[6])
    broker.clock.advance(timedelta(seconds=10))
    states.die(broker, ids[7])
    found = by_status(broker)
    assert {name: one["count"] for name, one in found.items()} == {
        "QUEUED": 2, "INFLIGHT": 2, "DELIVERED": 2, "DEAD": 2, "ARCHIVED": 1
    }  # fmt: skip
    assert all(one["exact"] and one["oldest"] <= one["newest"] for one in found.values())
    died = [get(broker.client, f"/admin/job/{one}")["deadAt"] for one in ids[6:8]]
    assert [found["DEAD"]["oldest"], found["DEAD"]["newest"]] == died


def test_a_count_that_met_its_bound_says_that_there_may_be_more(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_status, "EXAMINED_EACH", 4)
    monkeypatch.setattr(job_status, "LEAST_EACH", 2)
    register(broker.client)
    ids = make_jobs(broker.client, 16)
    states.finish(broker, *ids[:3])
    states.die(broker, *ids[3:9])
    states.take(broker, ids[9])
    found = by_status(broker)
    assert {name: (one["count"], one["exact"]) for name, one in found.items()} == {
        "QUEUED": (4, False), "INFLIGHT": (1, True), "DELIVERED": (0, False), "DEAD": (6, True), "ARCHIVED": (0, False)
    }  # fmt: skip
    states.finish(broker, *ids[10:14], ids[15])
    found = by_status(broker)
    assert (found["QUEUED"]["count"], found["QUEUED"]["exact"]) == (1, True)
    assert (found["DELIVERED"]["count"], found["DELIVERED"]["exact"]) == (3, False)
    monkeypatch.setattr(job_status, "EXAMINED_IN_ALL", 3)
    assert by_status(broker)["DELIVERED"]["count"] == 2


def test_statistics_have_the_names_of_seed_001(broker: Broker) -> None:
    bury(broker, 5, counted=3)
    put(broker.client, CONSUMER, dlqMaxSize=200)
    forced = make_jobs(broker.client, 1)
    act(broker.client, "fail", *forced)
    first = quote(str(get(broker.client, f"{DLQ}?order=oldest")["deadJobs"][0]["deadAt"]))
    assert call(broker, "DELETE", f"{DLQ}?diedBefore={first}", 200)["deletedCount"] == 3
    assert get(broker.client, "/dlq-stats") == {
        "queue_size": 3, "max_size": 200, "utilization_percent": 1.5, "examined": 3,
        "status_breakdown": {"RETRIES_EXHAUSTED": 2, "FORCED": 1},
        "error_categories": {"TRANSIENT": 2, "unknown": 1},
        "retry_policies": {"exponential": 2, "unknown": 1},
        "lifetime_stats": {"enqueued_total": 6, "manually_retried": 0, "deleted": 3, "archived": 0, "moved": 0},
        "is_processor_running": True, "retry_interval_seconds": 60.0,
    }  # fmt: skip


def test_statistics_look_at_so_many_of_the_newest_dead(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dlq_statistics, "EXAMINED", 3)
    monkeypatch.setattr(dlq_statistics, "LEAST_EACH", 1)
    ids = bury(broker, 5)
    states.change(broker, ids[3:], errorCategory="NETWORK")
    put(broker.client, CONSUMER, dlqMaxSize=0)
    shown = get(broker.client, "/dlq-stats")
    assert (shown["queue_size"], shown["examined"]) == (5, 3)
    assert shown["error_categories"] == {"NETWORK": 2, "TRANSIENT": 1}
    assert (shown["max_size"], shown["utilization_percent"]) == (0, None)


def test_the_processor_runs_while_checkpoints_are_young(broker: Broker) -> None:
    register(broker.client)
    assert get(broker.client, "/dlq-stats")["is_processor_running"] is False
    Checkpointer(broker.parts).run(force=True)
    assert get(broker.client, "/dlq-stats")["is_processor_running"] is True
    broker.clock.advance(timedelta(seconds=2 * 600 + 20))
    assert get(broker.client, "/dlq-stats")["is_processor_running"] is True
    broker.clock.advance(timedelta(seconds=20))
    assert get(broker.client, "/dlq-stats")["is_processor_running"] is False


def lines_of_a_day(broker: Broker) -> list[dict[str, Any]]:
    """Five checkpoints of two consumers; newest first."""
    register(broker.client, consumers=("consumer", "other"))
    for _ in range(5):
        act(broker.client, "fail", *make_jobs(broker.client, 1))
        broker.clock.advance(timedelta(seconds=600))
        Checkpointer(broker.parts).run(force=True)
    found: list[dict[str, Any]] = get(broker.client, "/dlq-history?limit=100")["history"]
    return found


def test_history_tells_what_happened_from_checkpoint_to_checkpoint(broker: Broker) -> None:
    bury(broker, 3)
    broker.clock.advance(timedelta(seconds=60))
    Checkpointer(broker.parts).run(force=True)
    call(broker, "POST", f"{DLQ}/archive", 200)
    broker.clock.advance(timedelta(seconds=60))
    Checkpointer(broker.parts).run(force=True)
    newest, oldest = get(broker.client, "/dlq-history")["history"]
    assert newest.pop("checkpointAt") > oldest.pop("checkpointAt")
    whose = {"channelId": "channel", "consumerId": "consumer"}
    none = {"died": 0, "requeued": 0, "deleted": 0, "archived": 0, "moved": 0}
    assert newest == {**whose, **none, "opening": 3, "archived": 3, "closing": 0}
    assert oldest == {**whose, **none, "opening": 0, "died": 3, "closing": 3}


@pytest.mark.parametrize("query", ["", "&channel=channel&consumer=other"])
def test_pages_of_history_lead_there_and_back(broker: Broker, query: str) -> None:
    lines = [one for one in lines_of_a_day(broker) if not query or one["consumerId"] == "other"]
    assert len(lines) == (5 if query else 10)
    pages = [get(broker.client, f"/dlq-history?limit=3{query}")]
    while "next" in pages[-1]["pages"]:
        pages.append(get(broker.client, pages[-1]["pages"]["next"]))
    assert [one for page in pages for one in page["history"]] == lines
    assert lines == sorted(lines, key=lambda one: (one["checkpointAt"], one["consumerId"]), reverse=True)
    for before, after in pairwise(pages):
        back = get(broker.client, after["pages"]["previous"])
        assert back["history"] == before["history"]
        assert ("previous" in back["pages"]) == ("previous" in before["pages"])


def test_history_can_be_narrowed_to_a_span_both_ends_included(broker: Broker) -> None:
    lines = lines_of_a_day(broker)
    moments = sorted({str(one["checkpointAt"]) for one in lines})
    span = f"since={moments[1]}&until={moments[3]}"
    expected = [one for one in lines if moments[1] <= one["checkpointAt"] <= moments[3]]
    page = get(broker.client, f"/dlq-history?{span}&limit=4")
    assert page["history"] + get(broker.client, page["pages"]["next"])["history"] == expected
    later = quote(show_time(broker.clock.now() + timedelta(days=1)))
    assert get(broker.client, f"/dlq-history?since={later}") == {"history": [], "pages": {}}
    assert faults(broker.client.get("/dlq-history?since=x&until=y")) == ["since", "until"]
    assert faults(broker.client.get("/dlq-history?limit=0")) == ["limit"]
    assert code_of(broker.client.get("/dlq-history?next=nonsense")) == (400, "invalid-cursor")


def test_an_audit_finds_a_drift_and_repairs_it_when_asked_to(broker: Broker) -> None:
    bury(broker, 3, counted=2)
    clean = {"consumers": 1, "dead": 2, "findings": [], "broken": [], "good": True}
    assert call(broker, "POST", "/admin/dlq/audit", 200) == clean
    execute(broker, "UPDATE dlq_summary SET dead_count = dead_count + 5, died_total = died_total + 5")
    found = {"channelId": "channel", "consumerId": "consumer", "stored": 7, "real": 2, "drift": 5}
    for body in (None, {"repair": False}):
        told = call(broker, "POST", "/admin/dlq/audit", 200, json=body)
        assert (told["findings"], told["good"]) == ([{**found, "repaired": False}], False)
    assert get(broker.client, "/dlq-status")["consumers"][0]["drift"] == 5
    told = call(broker, "POST", "/admin/dlq/audit", 200, json={"repair": True})
    assert (told["findings"], told["good"]) == ([{**found, "repaired": True}], True)
    assert call(broker, "POST", "/admin/dlq/audit", 200) == clean
    assert get(broker.client, "/dlq-status")["consumers"][0]["deadCount"] == 3


def test_an_audit_names_lines_that_do_not_balance(broker: Broker) -> None:
    lines_of_a_day(broker)
    execute(broker, "UPDATE dlq_history SET closing = closing + 1 WHERE opening = 4")
    told = call(broker, "POST", "/admin/dlq/audit", 200)
    assert (told["good"], told["findings"]) == (False, [])
    assert [(one["consumerId"], one["expected"], one["found"]) for one in told["broken"]] == [
        ("consumer", 5, 6), ("other", 5, 6)
    ]  # fmt: skip


def test_an_audit_takes_one_field_and_the_admin_only(broker: Broker) -> None:
    assert code_of(broker.client.post("/admin/dlq/audit")) == (401, "unauthorized")
    wrong = {"Authorization": "Bearer wrong"}
    assert code_of(broker.client.post("/admin/dlq/audit", headers=wrong)) == (403, "forbidden")
    for body, fields in (({"repair": "yes"}, ["repair"]), ({"fix": True}, ["fix"]), ([], ["body"])):
        assert faults(broker.client.post("/admin/dlq/audit", json=body, headers=ADMIN)) == fields
    answer = broker.client.post("/admin/dlq/audit", data="x", content_type="text/plain", headers=ADMIN)
    assert code_of(answer) == (415, "unsupported-media-type")
    assert parsed(broker.client.post("/admin/dlq/audit", headers=ADMIN))["good"] is True
