"""Jobs brought in from elsewhere: each judged and answered on its own, once, and the dead among them counted."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, get, parsed, put
from tests.support.dead import CONSUMER, TOKENS, dead_count
from tests.support.deaths import checkpoint
from tests.support.engines import Hand
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

IMPORT = f"{CONSUMER}/import"
ERROR = {"type": "HTTP_503", "category": "TRANSIENT", "text": "no room on 10.0.0.7"}
DEAD = {"state": "dead", "deadReason": "RETRIES_EXHAUSTED", "error": ERROR}
ORIGIN = {
    "channelId": "orders",
    "consumerId": "billing",
    "messageId": "order-1",
    "errorType": "HTTP_500",
    "errorText": "boom",
    "failedAt": "2020-01-02T03:04:05.000006Z",
    "retryCount": 3,
}


def bring(broker: Broker, *jobs: object, headers: dict[str, str] = ADMIN) -> Any:
    """Import jobs; gives the answer's JSON."""
    answer = broker.client.post(IMPORT, json={"jobs": jobs}, headers=headers)
    assert answer.status_code == 200, answer.text
    return parsed(answer)


def counts(told: Any) -> tuple[int, int, int]:
    return told["created"], told["ignored"], told["rejected"]


def test_all_that_is_given_is_kept(broker: Broker) -> None:
    register(broker.client)
    content = {"payload": "AAH/", "payloadEncoding": "base64", "contentType": "application/x-own", "priority": 7}
    more = {"headers": {"x-one": "ü"}, "metadata": {"a": [1, None]}, "hopCount": 3, "overrides": {"maxRetries": 9}}
    told = bring(broker, {**content, **more, "sourceJobId": "Own-id_1", "origin": ORIGIN})
    job = get(broker.client, told["results"][0]["location"])
    assert (job["sourceJobId"], job["origin"]) == ("Own-id_1", {"jobId": "Own-id_1", **ORIGIN})
    assert (job["state"], job["retryAttemptCount"], job["error"], job["priority"]) == ("queued", 0, None, 7)
    assert [(one["event"], one["actor"]) for one in job["history"]] == [("imported", "admin")]
    message = get(broker.client, job["messageUrl"])
    assert {name: message[name] for name in (*content, *more)} == {**content, **more}
    assert (message["producedBy"], [one["id"] for one in message["jobs"]]) == ("import", [job["id"]])


def test_what_is_not_known_of_the_origin_is_null(broker: Broker) -> None:
    register(broker.client)
    told = bring(broker, {"sourceJobId": "abc"})
    origin = get(broker.client, told["results"][0]["location"])["origin"]
    assert origin.pop("failedAt") is not None
    names = ("channelId", "consumerId", "messageId", "errorType", "errorText")
    assert origin == {"jobId": "abc", "retryCount": 0, **dict.fromkeys(names)}


def test_a_dead_one_is_dead_with_its_error_and_its_past(broker: Broker) -> None:
    register(broker.client)
    failed = {"at": "2020-01-02T03:04:05.000006Z", "event": "failed", "actor": "broker", "errorType": "HTTP_503",
              "errorCategory": "TRANSIENT", "detail": "no room"}  # fmt: skip
    told = bring(broker, {**DEAD, "sourceJobId": "abc", "origin": ORIGIN, "history": [failed]}, headers=TOKENS)
    job = get(broker.client, told["results"][0]["location"])
    assert (job["state"], job["deadReason"], job["retryAttemptCount"]) == ("dead", "RETRIES_EXHAUSTED", 3)
    assert {name: job["error"][name] for name in ERROR} == ERROR
    assert job["error"]["fingerprint"] is not None
    assert job["history"][0] == failed
    assert [(one["event"], one["actor"]) for one in job["history"]] == [("failed", "broker"), ("imported", "consumer")]
    assert [one["id"] for one in get(broker.client, f"{CONSUMER}/dlq?category=TRANSIENT")["deadJobs"]] == [job["id"]]


def test_the_dead_are_counted_before_and_after_a_checkpoint(broker: Broker) -> None:
    register(broker.client)
    bring(broker, *[DEAD] * 3)
    assert dead_count(broker) == assert_exact(broker.parts) == 3
    assert checkpoint(broker).counted == 3
    bring(broker, *[DEAD] * 2, {"state": "queued"})
    assert dead_count(broker) == assert_exact(broker.parts) == 5
    checkpoint(broker)
    assert dead_count(broker) == assert_exact(broker.parts) == 5
    assert audit(broker.parts).good
    assert 'broker_jobs_died_total{reason="RETRIES_EXHAUSTED"} 5.0' in broker.client.get("/metrics").text


def test_the_dead_stay_whatever_becomes_of_others(broker: Broker) -> None:
    register(broker.client)
    for settings in ({"deadLetterMode": "discard"}, {"dlqStrategy": "disabled"}, {"dlqFullPolicy": "reject"}):
        put(broker.client, CONSUMER, dlqMaxSize=1, **settings)
        bring(broker, DEAD)
    with closing(Hand(broker)) as hand:
        hand.deliver()
    assert dead_count(broker) == 3


def test_each_is_judged_on_its_own_and_the_field_at_fault_is_named(broker: Broker) -> None:
    register(broker.client)
    wrong = {
        "job": 7,
        "colour": {"colour": "red"},
        "messageId": {"messageId": "m"},
        "payload": {"payload": "?", "payloadEncoding": "base64"},
        "priority": {"priority": 10},
        "headers": {"headers": {"Host": "x"}},
        "sourceJobId": {"sourceJobId": "a b"},
        "origin.retryCount": {"sourceJobId": "a", "origin": {"retryCount": -1}},
        "origin.channelId": {"sourceJobId": "a", "origin": {"channelId": "a/b"}},
        "origin.failedAt": {"sourceJobId": "a", "origin": {"failedAt": "yesterday"}},
        "state": {"state": "delivered"},
        "deadReason": {"state": "dead", "deadReason": "BOREDOM"},
        "error.category": {**DEAD, "error": {"category": "ODD"}},
        "history[0].event": {"history": [{"at": ORIGIN["failedAt"], "event": "Bad Event", "actor": "x"}]},
        "history[0].at": {"history": [{"event": "failed", "actor": "x"}]},
        "history": {"history": [{}] * 101},
    }
    told = bring(broker, {"payload": "good"}, *wrong.values(), {"payload": "good"})
    assert counts(told) == (2, 0, len(wrong))
    rejected = told["results"][1:-1]
    assert [[error["field"] for error in one["errors"]] for one in rejected] == [[name] for name in wrong]
    assert {(one["status"], one["code"]) for one in rejected} == {(400, "invalid-request")}
    assert len(get(broker.client, f"{CONSUMER}/jobs")["result"]) == 2


def test_fields_that_belong_together_are_asked_for_together(broker: Broker) -> None:
    register(broker.client)
    told = bring(broker, {"origin": ORIGIN}, {"state": "dead"}, {"deadReason": "FORCED", "error": "x"})
    named = [[error["field"] for error in one["errors"]] for one in told["results"]]
    assert named == [["sourceJobId"], ["deadReason"], ["deadReason", "error"]]


def test_a_payload_that_is_too_large_is_its_own_items_fault(broker: Broker) -> None:
    register(broker.client)
    told = bring(broker, {"payload": "x" * 5_000_001}, {"payload": "x"})
    assert [one["status"] for one in told["results"]] == [413, 201]


def test_json_lines_are_taken(broker: Broker) -> None:
    register(broker.client)
    lines = b"\n".join([json.dumps({"payload": "1"}).encode(), b"", b"{", json.dumps({"sourceJobId": "a"}).encode()])
    headers = {**ADMIN, "Content-Type": "application/x-ndjson"}
    told = parsed(broker.client.post(IMPORT, data=lines, headers=headers))
    assert [one["status"] for one in told["results"]] == [201, 400, 201]


def test_what_makes_the_whole_request_unreadable_is_refused(broker: Broker) -> None:
    register(broker.client)
    bodies: list[dict[str, object]] = [{}, {"jobs": []}, {"jobs": [{}] * 1001}, {"jobs": "x"}]
    for body in bodies:
        assert faults(broker.client.post(IMPORT, json=body, headers=ADMIN)) == ["jobs"]
    assert faults(broker.client.post(IMPORT, json={"jobs": [{}], "x": 1}, headers=ADMIN)) == ["x"]
    answer = broker.client.post(IMPORT, data=b"<jobs/>", headers={**ADMIN, "Content-Type": "text/xml"})
    assert code_of(answer) == (415, "unsupported-media-type")
    assert get(broker.client, f"{CONSUMER}/jobs")["result"] == []


def test_a_second_arrival_is_ignored_within_a_request_and_beside_new_ones(broker: Broker) -> None:
    register(broker.client)
    told = bring(broker, {"sourceJobId": "a", "payload": "1"}, {"sourceJobId": "a", "payload": "2"})
    assert [one["status"] for one in told["results"]] == [201, 200]
    told = bring(broker, *[{"sourceJobId": name, **DEAD} for name in ("b", "a", "c")])
    assert [one["status"] for one in told["results"]] == [201, 200, 201]
    assert dead_count(broker) == assert_exact(broker.parts) == 2


def test_a_job_that_is_still_there_is_not_brought_in_beside_itself(broker: Broker) -> None:
    register(broker.client)
    first = bring(broker, DEAD)["results"][0]
    told = bring(broker, {**DEAD, "sourceJobId": first["jobId"]})
    assert told["results"] == [{**first, "status": 200}]
    assert dead_count(broker) == 1


def test_two_clients_that_import_the_same_at_the_same_time_bring_it_once(broker: Broker) -> None:
    register(broker.client)
    bring(broker, {"payload": "the importer is made"})
    jobs = [{"sourceJobId": f"job-{number}", **(DEAD if number % 2 else {})} for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda order: bring(broker, *jobs[::order]), (1, -1, 1, -1)))
    assert [one["created"] + one["ignored"] for one in told] == [200] * 4
    assert sum(one["created"] for one in told) == 200
    assert dead_count(broker) == assert_exact(broker.parts) == 100


def test_imported_jobs_are_delivered_like_others(broker: Broker) -> None:
    register(broker.client)
    put(broker.client, CONSUMER, type="pull")
    bring(broker, {"payload": "low"}, {"payload": "high", "priority": 9})
    answer = broker.client.post(f"{CONSUMER}/lease", json={"limit": 10}, headers=ADMIN)
    assert [one["message"]["payload"] for one in parsed(answer)["jobs"]] == ["high", "low"]


def test_who_is_named_import_can_publish_only_with_a_token_that_an_admin_sets(broker: Broker) -> None:
    register(broker.client)
    bring(broker, {})
    assert get(broker.client, "/producer/import")["name"] == "Import"
    bring(broker, {})
    assert broker.client.delete("/producer/import", headers=ADMIN).status_code == 204
    assert counts(bring(broker, {})) == (1, 0, 0)
