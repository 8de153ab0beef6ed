"""The list of a consumer's dead over HTTP: conditions, both orders, pages there and back."""

from datetime import timedelta
from itertools import pairwise
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from broker.store import job_pages
from tests.support import states
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, get
from tests.support.dead import CONSUMER, DLQ, TOKENS, bury, listed
from tests.support.jobs import act, job, make_jobs
from tests.support.walk import register

DIFFERENT: tuple[dict[str, str | None], ...] = (
    {"errorCategory": "NETWORK", "errorType": "DNS", "errorText": "no such host: db_1", "deadReason": "NON_RETRYABLE"},
    {"errorCategory": "NETWORK", "errorType": "TIMEOUT", "errorText": "100% full", "errorFingerprint": "a" * 32},
    {"errorCategory": "TRANSIENT", "errorType": "HTTP_500", "errorText": "No such! host: ü", "deadReason": "EXPIRED"},
    {"errorCategory": None, "errorType": None, "errorText": None, "errorFingerprint": None, "deadReason": "MAX_HOPS"},
)


def bury_different(broker: Broker) -> list[str]:
    """Four that died for different reasons, a minute apart, oldest first."""
    ids = bury(broker, 4)
    for number, (one, values) in enumerate(zip(ids, DIFFERENT, strict=True)):
        died_at = broker.clock.now() - timedelta(minutes=4 - number)
        states.change(broker, [one], deadAt=died_at, statusChangedAt=died_at, **values)
    return ids


def test_a_listed_dead_job_is_the_job_without_its_history(broker: Broker) -> None:
    (job_id,) = bury(broker, 1)
    make_jobs(broker.client, 1)
    (shown,) = get(broker.client, DLQ)["deadJobs"]
    whole = job(broker, job_id)
    assert shown == {name: value for name, value in whole.items() if name != "history"}
    assert shown["jobRequeueUrl"] == f"{CONSUMER}/job/{job_id}/requeue-dead-job"
    assert broker.client.post(shown["jobRequeueUrl"], headers=TOKENS).status_code == 202
    assert get(broker.client, DLQ) == {"deadJobs": [], "pages": {}}


def test_conditions_pick_among_the_dead(broker: Broker) -> None:
    dns, timeout, server, hops = bury_different(broker)
    for query, expected in (
        ("", [hops, server, timeout, dns]),
        ("category=&reason=&text=&order=", [hops, server, timeout, dns]),
        ("category=NETWORK", [timeout, dns]),
        ("category=PERMANENT", []),
        ("reason=MAX_HOPS", [hops]),
        ("errorType=DNS", [dns]),
        ("fingerprint=" + "a" * 32, [timeout]),
        ("text=such", [server, dns]),
        ("text=db_1", [dns]),
        ("text=db%251", []),
        ("text=" + quote("100%"), [timeout]),
        ("text=" + quote("such! host: ü"), [server]),
        ("text=" + quote("' OR 1=1 -- "), []),
        ("category=NETWORK&text=host", [dns]),
        ("category=NETWORK&order=oldest", [dns, timeout]),
    ):
        assert listed(broker, query) == listed(broker, query, limit=1) == expected, query


def test_the_dead_can_be_listed_by_the_time_of_their_death_both_ends_included(broker: Broker) -> None:
    ids = bury_different(broker)
    died = [quote(job(broker, one)["deadAt"]) for one in ids]
    assert listed(broker, f"diedAfter={died[1]}") == ids[:0:-1]
    assert listed(broker, f"diedBefore={died[1]}") == ids[1::-1]
    assert listed(broker, f"diedAfter={died[1]}&diedBefore={died[2]}&order=oldest", limit=1) == ids[1:3]
    assert listed(broker, f"diedAfter={died[3]}&diedBefore={died[0]}") == []


def test_what_is_wrong_with_a_condition_is_told(broker: Broker) -> None:
    register(broker.client)
    for query, fields in (
        ("category=odd&reason=odd&diedAfter=x&diedBefore=2030-13-01T00:00:00Z&text=" + "x" * 201,
         ["category", "reason", "text", "diedAfter", "diedBefore"]),
        ("errorType=%C3%BC&fingerprint=%C3%BC&text=%C3%BC", ["errorType", "fingerprint"]),
        ("order=up", ["order"]),
        ("limit=101", ["limit"]),
    ):  # fmt: skip
        assert faults(broker.client.get(f"{DLQ}?{query}", headers=ADMIN)) == fields


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("query", ["", "&category=TRANSIENT&text=no%20room"])
def test_pages_lead_there_and_back_and_keep_conditions_and_order(broker: Broker, order: str, query: str) -> None:
    ids = bury(broker, 10)
    pages = [get(broker.client, f"{DLQ}?order={order}&limit=4{query}")]
    while "next" in pages[-1]["pages"]:
        pages.append(get(broker.client, pages[-1]["pages"]["next"]))
    shown = [one["id"] for page in pages for one in page["deadJobs"]]
    assert shown == (ids if order == "oldest" else ids[::-1])
    assert [len(page["deadJobs"]) for page in pages] == [4, 4, 2]
    kept = parse_qs(urlsplit(pages[0]["pages"]["next"]).query)
    assert (kept["order"], kept["limit"], kept.get("text")) == ([order], ["4"], ["no room"] if query else None)
    for before, after in pairwise(pages):
        back = get(broker.client, after["pages"]["previous"])
        assert back["deadJobs"] == before["deadJobs"]
        assert ("previous" in back["pages"]) == ("previous" in before["pages"])
        assert get(broker.client, back["pages"]["next"])["deadJobs"] == after["deadJobs"]


def test_a_page_examines_so_many_of_the_dead_and_then_says_where_to_go_on(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_pages, "EXAMINED", 4)
    monkeypatch.setattr(job_pages, "STEP", 3)
    ids = bury(broker, 14)
    states.change(broker, [ids[0], ids[1], ids[12]], errorType="DNS")
    page = get(broker.client, f"{DLQ}?errorType=DNS&limit=2")
    assert [one["id"] for one in page["deadJobs"]] == [ids[12]]
    assert get(broker.client, page["pages"]["next"])["deadJobs"] == []
    assert listed(broker, "errorType=DNS", limit=2) == [ids[12], ids[1], ids[0]]
    assert listed(broker, "errorType=ODD", limit=2) == []
    assert listed(broker, "", limit=2) == ids[::-1]


def test_a_forged_cursor_is_refused(broker: Broker) -> None:
    bury(broker, 2)
    for query in ("next=nonsense", "previous=eyJpIjo0Mn0", "next=a&previous=b"):
        assert code_of(broker.client.get(f"{DLQ}?{query}", headers=ADMIN)) == (400, "invalid-cursor")


def test_only_the_admin_or_both_tokens_open_the_list(broker: Broker) -> None:
    register(broker.client, consumers=("consumer", "other"))
    mine, others = make_jobs(broker.client, 1)
    act(broker.client, "fail", mine, others)
    answer = broker.client.get(DLQ, headers=TOKENS)
    assert [one["id"] for one in answer.get_json()["deadJobs"]] == [mine]
    assert code_of(broker.client.get(DLQ)) == (401, "unauthorized")
    for wrong in ({"X-Broker-Channel-Token": "x"}, {"X-Broker-Consumer-Token": "other-token"}):
        assert code_of(broker.client.get(DLQ, headers={**TOKENS, **wrong})) == (403, "forbidden")
    assert code_of(broker.client.get("/channel/channel/consumer/x/dlq", headers=ADMIN)) == (404, "not-found")
