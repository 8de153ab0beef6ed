"""`broker bench deliver` and `bench latency` measure what they say, and tell nothing of what was not delivered."""

import http.client
import json
import os
import socket
import subprocess
import sys
from typing import Any

import pytest

from broker.bench import deliver, sink
from broker.bench.client import BenchFailed
from broker.bench.deliver_engine import wait_until_delivered, working
from broker.bench.deliver_place import Target, prepared
from broker.config import Settings, load
from broker.runtime.ports import free_port

JOBS = 200


def bench(database_url: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "broker", "--database-url", database_url, "bench", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def settings(database_url: str) -> Settings:
    given = {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
    return load(None, given, {"database_url": database_url})


def small(database_url: str, *options: str) -> dict[str, Any]:
    done = bench(database_url, "deliver", "--jobs", str(JOBS), "--rounds", "1", "--consumers", "3", *options, "--json")
    assert done.returncode == 0, done.stderr
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def test_both_sides_deliver_every_job_once_and_are_set_against_each_other(database_url: str) -> None:
    shown = small(database_url, "--workers", "1")
    for side in (shown["product"], shown["bare"]):
        assert (side["jobs"], side["states"], side["duplicates"]) == (JOBS, {"DELIVERED": JOBS}, 0)
        assert side["jobsPerSecond"] > 0 and side["sinkCpuPer1000"] > 0
    product, bare = shown["product"], shown["bare"]
    assert product["engineCpuPer1000"] > 0 and product["peakMemoryMb"] > 10
    ratio = shown["ratio"]["perCpuSecond"]
    assert shown["ratio"]["perCpuSecondOfRounds"] == [ratio]
    if product["databaseCpuPer1000"] is None:
        assert (product["jobsPerCpuSecond"], ratio) == (None, None), "what cannot be seen is not free"
    else:
        cpu = product["engineCpuPer1000"] + product["databaseCpuPer1000"]
        assert product["jobsPerCpuSecond"] == pytest.approx(1000 / cpu, rel=0.02)
        assert ratio == pytest.approx(product["jobsPerCpuSecond"] / bare["jobsPerCpuSecond"], rel=0.02)
    assert shown["bound"] is None


def test_a_late_target_is_set_against_its_bound_and_a_backlog_stays_where_it_is(server_url: str) -> None:
    shown = small(server_url, "--target-ms", "20", "--workers", "1", "--backlog", "1500")
    assert shown["bound"]["connections"] == 3 * 64
    assert shown["bound"]["jobsPerSecond"] == 9600
    assert 0 < shown["bound"]["ratio"] <= 1
    assert shown["product"]["mostAtOnce"] <= 3 * 64
    assert shown["backlogAtTheEnd"] == 1500


def test_the_table_says_what_the_figures_are(sqlite_url: str) -> None:
    done = bench(sqlite_url, "deliver", "--jobs", str(JOBS), "--rounds", "1", "--target-ms", "1", "--backlog", "3")
    assert done.returncode == 0, done.stderr
    for words in ("jobs/CPU s", "bare, 1", "Ratio to bare", f"{JOBS} DELIVERED", "Bound: 256", "paused: 3."):
        assert words in done.stdout


def test_the_bare_side_fails_when_the_target_refuses(sqlite_url: str) -> None:
    with pytest.raises(BenchFailed, match="answered 500"):
        deliver.run(settings(sqlite_url), deliver.Plan(jobs=JOBS, workers=1, rounds=1, answer=500), lambda: None)


def test_the_broker_s_side_fails_when_not_every_job_is_delivered(database_url: str) -> None:
    with prepared(settings(database_url), 2, 100, Target(answer=500)) as ground, working(ground.settings, 1) as pid:
        filled = ground.filler.fill(JOBS, ground.filler.now())
        with pytest.raises(BenchFailed, match=f"{JOBS} jobs are .*QUEUED"):
            wait_until_delivered(ground, filled, pid, patience=5)
        assert ground.sink.received > 0


def test_an_engine_that_ends_by_itself_is_not_waited_for(sqlite_url: str) -> None:
    with pytest.raises(BenchFailed, match="ended by itself"):  # noqa: SIM117
        with prepared(settings(sqlite_url), 1, 100, Target()) as ground, working(ground.settings, 1) as pid:
            filled = ground.filler.fill(1, ground.filler.soon(3600))
            os.kill(pid, 9)
            wait_until_delivered(ground, filled, pid, patience=30)


def test_latency_counts_every_message_and_tells_what_rest_costs(database_url: str) -> None:
    done = bench(database_url, "latency", "--rate", "50", "--seconds", "1", "--workers", "1", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["messages"], shown["duplicates"]) == (50, 0)
    assert 0 <= shown["p50Ms"] <= shown["p99Ms"] <= shown["maxMs"]
    assert 0 <= shown["idleEngineShare"] < 1
    assert 0 < shown["messagesPerSecond"] < 60


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("deliver", "--jobs", "0"), "--jobs"),
        (("deliver", "--target-ms", "late"), "--target-ms"),
        (("latency", "--rate", "-1"), "--rate"),
    ],
)
def test_a_bad_option_is_one_clear_line(sqlite_url: str, options: tuple[str, ...], says: str) -> None:
    done = bench(sqlite_url, *options)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr


def test_the_target_tells_duplicates_and_times_and_starts_anew_after_each_report() -> None:
    port = free_port()
    with sink.serving(port, status=202) as target:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        for job in ("a" * 20, "b" * 20, "a" * 20):
            connection.request("POST", "/", b"body", {"X-Broker-Job-ID": job})
            assert connection.getresponse().read() == b"ok"
        report = target.take()
        assert report.ids == [b"a" * 20, b"b" * 20, b"a" * 20]
        assert report.duplicates == 1 and report.times == sorted(report.times)
        assert target.received == 0 and target.take().ids == []
        connection.close()


def test_the_target_waits_for_the_whole_of_a_request_and_answers_when_it_is_due() -> None:
    port = free_port()
    head = b"POST / HTTP/1.1\r\nX-Broker-Job-ID: " + b"c" * 20 + b"\r\nContent-Length: 4\r\n\r\n"
    with sink.serving(port, delay_ms=100) as target, socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(head + b"bo")
        line.settimeout(0.3)
        with pytest.raises(TimeoutError):
            line.recv(100)
        line.sendall(b"dy")
        line.settimeout(5)
        assert line.recv(100).startswith(b"HTTP/1.1 200 ")
        report = target.take()
        assert (report.ids, report.most_at_once) == ([b"c" * 20], 1)
