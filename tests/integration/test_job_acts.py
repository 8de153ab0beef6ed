"""Operators act on jobs by hand: each job has its own outcome, and the dead-letter summary never drifts."""

import logging
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from broker.domain.acts import ACTS
from broker.domain.states import JobStatus
from broker.domain.transitions import may_become
from broker.operations import job_acts
from tests.support import states
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults
from tests.support.jobs import act, job, make_jobs, results, try_act
from tests.support.rows import count, rows
from tests.support.walk import register

THREADS = 8
STATES = ("queued", "inflight", "delivered", "dead", "archived")
DONE = ("done", None)


def one_of_each(broker: Broker) -> dict[str, str]:
    """A job in each status, by the name of the status."""
    found = dict(zip(STATES, make_jobs(broker.client, len(STATES)), strict=True))
    states.take(broker, found["inflight"])
    states.finish(broker, found["delivered"])
    states.die(broker, found["dead"])
    states.finish(broker, found["archived"], status=JobStatus.ARCHIVED)
    return found


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("retry", {"dead"}),
        ("fail", {"queued", "inflight"}),
        ("done", {"queued", "inflight", "dead"}),
        ("drop", {"queued", "delivered", "dead", "archived"}),
    ],
)
def test_an_act_takes_what_it_may_and_says_why_it_passes_over_the_rest(
    broker: Broker, name: str, takes: set[str]
) -> None:
    register(broker.client)
    found = one_of_each(broker)
    unknown = broker.parts.ids.new()
    before = {state: dict(states.row(broker, one)) for state, one in found.items()}
    told = act(broker.client, name, *found.values(), unknown)
    assert [one["id"] for one in told["results"]] == [*found.values(), unknown]
    for state, result in zip(STATES, results(told), strict=False):
        reason = f"it is {state}"
        if (name, state) == ("drop", "inflight"):
            reason = "it is inflight and its lease has not ended; force drops it all the same"
        assert result == (DONE if state in takes else ("skipped", reason))
    assert results(told)[-1] == ("not found", None)
    assert (told["done"], told["skipped"], told["notFound"]) == (len(takes), len(STATES) - len(takes), 1)
    for state in set(STATES) - takes:
        assert dict(states.row(broker, found[state])) == before[state]


def test_every_act_is_among_the_transitions() -> None:
    steps = {(source, one.target) for one in ACTS.values() for source in one.sources if one.target is not None}
    assert all(may_become(source, target) for source, target in steps)
    assert len(steps) == 6


def test_retry_makes_a_dead_job_as_good_as_new_but_keeps_its_last_error(broker: Broker) -> None:
    register(broker.client)
    (job_id,) = make_jobs(broker.client, 1)
    states.die(broker, job_id)
    act(broker.client, "retry", job_id)
    found, shown = states.row(broker, job_id), job(broker, job_id)
    cleared = ("deadAt", "deadReason", "leaseToken", "outcome", "expiresAt")
    assert {name: found[name] for name in cleared} == dict.fromkeys(cleared)
    assert (found["status"], found["retryAttemptCount"], found["replayCount"]) == (JobStatus.QUEUED, 0, 1)
    assert found["earliestNextAttemptAt"] == found["statusChangedAt"]
    assert (shown["state"], shown["error"]["type"]) == ("queued", "HTTP_503")
    assert results(act(broker.client, "retry", job_id)) == [("skipped", "it is queued")]
    assert states.row(broker, job_id)["replayCount"] == 1


def test_retry_lifts_an_expiry_that_has_passed_and_keeps_one_that_has_not(broker: Broker) -> None:
    register(broker.client)
    past, listed, unlisted = make_jobs(broker.client, 3)
    moment = broker.clock.now()
    later = moment + timedelta(hours=1)
    states.expire_at(broker, past, moment - timedelta(hours=1), listed=False)
    states.expire_at(broker, listed, later)
    states.expire_at(broker, unlisted, later, listed=False)
    states.die(broker, past, listed, unlisted)
    assert act(broker.client, "retry", past, listed, unlisted)["done"] == 3
    assert [states.row(broker, one)["expiresAt"] for one in (past, listed, unlisted)] == [None, later, later]
    assert [one["jobId"] for one in rows(broker, "SELECT jobId FROM job_expiry ORDER BY jobId")] == [listed, unlisted]


def test_a_job_that_fails_by_hand_is_dead_at_once_and_its_lease_is_lost(broker: Broker) -> None:
    register(broker.client)
    queued, inflight = make_jobs(broker.client, 2)
    states.take(broker, inflight)
    act(broker.client, "fail", queued, inflight)
    for job_id in (queued, inflight):
        found = states.row(broker, job_id)
        assert (found["status"], found["deadReason"], found["leaseToken"]) == (JobStatus.DEAD, "FORCED", None)
        assert found["deadAt"] == found["statusChangedAt"]
        assert found["earliestNextAttemptAt"] is None


def test_done_is_delivered_with_a_good_outcome(broker: Broker) -> None:
    register(broker.client)
    found = one_of_each(broker)
    act(broker.client, "done", *(found[name] for name in ("queued", "inflight", "dead")))
    for name in ("queued", "inflight", "dead"):
        shown = job(broker, found[name])
        assert (shown["state"], shown["outcome"], shown["deadAt"], shown["deadReason"]) == (
            "delivered", "ok", None, None,
        )  # fmt: skip
        assert shown["nextAttemptAt"] is shown["leaseExpiresAt"] is None


def test_drop_leaves_nothing_of_a_job(broker: Broker) -> None:
    register(broker.client)
    first, second = make_jobs(broker.client, 2)
    states.expire_at(broker, first, broker.clock.now() + timedelta(hours=1))
    states.come_from(broker, first, broker.parts.ids.new())
    act(broker.client, "fail", first, second)
    act(broker.client, "retry", first, second)
    before = count(broker, "job_event")
    assert act(broker.client, "drop", first)["done"] == 1
    assert {table: count(broker, table) for table in ("job", "job_origin", "job_expiry")} == {
        "job": 1, "job_origin": 0, "job_expiry": 0,
    }  # fmt: skip
    assert count(broker, "job_event") == before / 2
    assert results(act(broker.client, "drop", first, second)) == [("not found", None), DONE]


def test_what_is_in_flight_is_dropped_when_its_lease_has_ended_or_by_force(broker: Broker) -> None:
    register(broker.client)
    ended, forced, held = make_jobs(broker.client, 3)
    states.take(broker, ended, seconds=-1)
    states.take(broker, forced, held)
    assert [one for one, _ in results(act(broker.client, "drop", ended, forced, held))] == [
        "done",
        "skipped",
        "skipped",
    ]
    assert results(act(broker.client, "drop", forced, force=True)) == [DONE]
    assert job(broker, held)["state"] == "inflight"


@pytest.mark.parametrize("name", ["retry", "done", "drop"])
def test_taking_back_the_dead_subtracts_what_was_counted_and_balances_what_was_not(broker: Broker, name: str) -> None:
    register(broker.client, consumers=("consumer", "other"))
    ids = make_jobs(broker.client, 6)
    counted, uncounted, living = ids[:4], ids[4:10], ids[10:]
    states.die(broker, *counted)
    states.checkpoint(broker)
    states.die(broker, *uncounted)
    assert states.totals(broker) == (4, 4, 0, 0)
    chosen = [*counted[:3], *uncounted[:5]]
    assert act(broker.client, name, *chosen)["done"] == 8
    requeued, deleted = (0, 8) if name == "drop" else (8, 0)
    assert states.totals(broker) == (1, 4 + 5, requeued, deleted)
    states.checkpoint(broker)
    dead, died, requeued, deleted = states.totals(broker)
    assert dead == states.dead_by_hand(broker) == died - requeued - deleted == 2
    assert act(broker.client, "drop", *living)["done"] == len(living)
    assert states.totals(broker)[3] == deleted


def test_a_death_in_the_very_microsecond_of_the_checkpoint_is_counted_once(broker: Broker) -> None:
    register(broker.client)
    (job_id,) = make_jobs(broker.client, 1)
    states.die(broker, job_id)
    states.checkpoint(broker)
    states.die(broker, job_id, at=states.checked_at(broker))
    act(broker.client, "retry", job_id)
    assert states.totals(broker) == (0, 1, 1, 0)


def test_die_and_retry_between_two_checkpoints_leaves_nothing_behind(broker: Broker) -> None:
    register(broker.client)
    ids = make_jobs(broker.client, 5)
    for turn in range(1, 4):
        act(broker.client, "fail", *ids)
        assert act(broker.client, "retry", *ids)["done"] == 5
        assert states.totals(broker) == (0, 5 * turn, 5 * turn, 0)
        states.checkpoint(broker)
        assert states.totals(broker) == (0, 5 * turn, 5 * turn, 0)


def test_many_jobs_are_taken_a_chunk_at_a_time(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_acts, "CHUNK", 7)
    register(broker.client)
    ids = make_jobs(broker.client, 40)
    chosen = [*reversed(ids), *ids[:3]]
    told = act(broker.client, "fail", *chosen)
    assert told["done"] == len(told["results"]) == 40
    assert [one["id"] for one in told["results"]] == chosen[:40]
    assert act(broker.client, "retry", *ids)["done"] == 40
    assert count(broker, "job_event") == 80


def test_the_start_of_an_id_stands_for_it_and_one_that_fits_several_refuses_all(broker: Broker) -> None:
    register(broker.client)
    ids = make_jobs(broker.client, 40)
    common = ids[0][:14]
    assert faults(try_act(broker.client, "fail", {"jobs": [ids[0], common]})) == ["jobs[1]"]
    assert job(broker, ids[0])["state"] == "queued"
    act(broker.client, "drop", *ids[1:])
    told = act(broker.client, "fail", common, "00000000", ids[0])
    assert [one["result"] for one in told["results"]] == ["done", "not found"]
    assert [one["id"] for one in told["results"]] == [ids[0], "00000000"]


def test_bad_input_names_the_field(broker: Broker) -> None:
    register(broker.client)
    good = broker.parts.ids.new()
    for body, fields in (
        ({}, ["jobs"]),
        ({"jobs": []}, ["jobs"]),
        ({"jobs": good}, ["jobs"]),
        ({"jobs": [good] * 1001}, ["jobs"]),
        ({"jobs": [good, "short", 7, None, good + "0", "ABCDEFGHIJ"]}, [f"jobs[{at}]" for at in range(1, 6)]),
        ({"jobs": [good], "force": 1}, ["force"]),
        ({"jobs": [good], "forced": True, "id": 1}, ["forced", "id"]),
        ([good], ["body"]),
    ):
        assert faults(try_act(broker.client, "drop", body)) == fields
    assert code_of(try_act(broker.client, "kill", {"jobs": [good]})) == (404, "not-found")
    form = broker.client.post("/admin/jobs/drop", data={"jobs": good}, headers=ADMIN)
    assert faults(form) == ["jobs"]
    assert code_of(broker.client.post("/admin/jobs/drop", data=b"x", headers=ADMIN)) == (415, "unsupported-media-type")
    assert code_of(broker.client.get("/admin/jobs/drop", headers=ADMIN)) == (405, "method-not-allowed")


def test_who_did_what_to_how_many_is_logged(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    register(broker.client)
    ids = make_jobs(broker.client, 3)
    with caplog.at_level(logging.INFO, "broker.operations.job_acts"):
        act(broker.client, "fail", *ids, broker.parts.ids.new())
        act(broker.client, "drop", *ids, force=True)
    assert [record.getMessage() for record in caplog.records] == [
        "admin asked to fail jobs: 3 failed, 0 skipped, 1 not found",
        "admin asked to drop jobs by force: 3 dropped, 0 skipped, 0 not found",
    ]


def test_of_eight_who_retry_the_same_jobs_each_job_is_done_by_one(broker: Broker) -> None:
    register(broker.client, consumers=("consumer", "other", "third"))
    ids = make_jobs(broker.client, 20)
    together, seen = threading.Barrier(THREADS), list[int]()
    for turn in range(1, 4):
        states.die(broker, *ids[: 10 * turn])
        states.checkpoint(broker)
        states.die(broker, *ids[10 * turn :])

        def retry(number: int) -> Any:
            mine = ids if number % 2 else ids[::-1]
            together.wait()
            told = act(broker.client, "retry", *mine)
            seen.append(states.totals(broker)[0])
            return told

        with ThreadPoolExecutor(THREADS) as pool:
            told = list(pool.map(retry, range(THREADS)))
        done = Counter(one["id"] for answer in told for one in answer["results"] if one["result"] == "done")
        assert done == Counter(ids)
        assert all(one["result"] in ("done", "skipped") for answer in told for one in answer["results"])
        assert min(seen) == 0
        assert states.totals(broker) == (0, 60 * turn, 60 * turn, 0)
    assert {one["replayCount"] for one in rows(broker, "SELECT replayCount FROM job")} == {3}


def test_mixed_acts_at_once_never_drift(broker: Broker) -> None:
    register(broker.client, consumers=("consumer", "other"))
    ids = make_jobs(broker.client, 30)
    names = ("fail", "retry", "done", "fail", "retry", "drop")

    def work(number: int) -> None:
        for turn in range(6):
            name = names[(number + turn) % len(names)]
            mine = ids[number % 3 :: 3] if name != "drop" else ids[turn : turn + 3]
            act(broker.client, name, *mine)
            if number == 0:
                states.checkpoint(broker, settle=0.5)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    states.checkpoint(broker)
    dead, died, requeued, deleted = states.totals(broker)
    assert dead == states.dead_by_hand(broker) == died - requeued - deleted
