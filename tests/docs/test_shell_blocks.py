"""The shell lines of the documents are executed as written, on a real broker; only the address is the test's own."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.docs.pages import ROOT, shell_of
from tests.docs.walks import ADDRESS, ENVIRONMENT, execute, run, running
from tests.support.target import Answer, Received, Target


def test_the_first_walk_of_the_readme_does_what_it_says(tmp_path: Path) -> None:
    walk, _, _ = shell_of("README.md").partition("export BROKER_DATABASE_URL")
    with running(tmp_path) as live:
        printed = run(walk, tmp_path, live)
        assert "201 Created" in printed
        assert '"messageId": "order-4711", "payload": "{\\"order\\": 4711}"' in printed
        assert re.search(r"^\w{20} .*inflight", printed, re.MULTILINE)
        counts = httpx.get(f"{live.url}/channel/orders/messages-status", headers=channel_token()).json()["counts"]
        assert counts["DISPATCHED"]["Count"] == 2001


def test_the_walk_through_the_jobs_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(ENVIRONMENT + shell_of("docs/jobs.md"), tmp_path, live)
        for told in ("2 failed", "1 requeued", "1 done", "1 dropped"):
            assert f"\n{told}, 0 skipped, 0 not found.\n" in printed
        left = json.loads(printed[printed.rindex("\n[\n") :])
        assert sorted(job["state"] for job in left) == ["delivered", "queued", "queued"]


def test_the_walk_through_pulling_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(ENVIRONMENT + shell_of("docs/pulling.md"), tmp_path, live)
        told = re.findall(r'"result": "(\w+)"', printed)
        assert told == ["extended", "delivered", "retrying", "dead", "late"]
        left = json.loads(printed[printed.rindex("[\n") :])
        assert sorted(job["state"] for job in left) == ["dead", "delivered", "delivered", "retrying"]


def test_the_walk_through_the_dead_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(ENVIRONMENT + shell_of("docs/dead-letters.md"), tmp_path, live)
        for told in ("1 requeued, 0 skipped, 0 not found", "1 deleted, 0 skipped, 0 not found"):
            assert f"\n{told}.\n" in printed
        for told in ("4 requeued, 0", "0 deleted, 5", "5 archived, 0", "1 moved, 0", "2 replayed, 0", "0 replayed, 3",
                     "3 replayed, 0", "1 replayed, 0"):  # fmt: skip
            assert f"\n{told} skipped.\n" in printed
        assert "\n5 would be replayed (5 retained, 0 moved meet the conditions); left alone: 0 leased" in printed
        imported = re.findall(r"^(\d) created, (\d) ignored, 0 rejected$", printed, re.MULTILINE)
        assert imported == [("0", "5"), ("5", "0"), ("1", "0"), ("1", "4")]
        assert '"created": 0, "ignored": 5, "rejected": 0}' in printed
        assert re.search(r"^coins +bank +5 ", printed, re.MULTILINE)
        assert printed.endswith(" dead, all exact.\n")


def test_the_checks_for_nagios_say_what_the_page_shows(tmp_path: Path) -> None:
    shown = (
        (ROOT / "docs/monitoring-nagios.md").read_text().partition("\nThe checks print\n\n```\n")[2].partition("```")[0]
    )
    with running(tmp_path) as live:
        printed = run(ENVIRONMENT + shell_of("docs/monitoring-nagios.md"), tmp_path, live)
    told = re.findall(r"^(?:DLQ|ended) .*$", printed, re.MULTILINE)
    assert [re.sub(r"[0-9.]+s\b", "1s", line) for line in told] == re.sub(r"[0-9.]+s\b", "1s", shown).splitlines()


def test_the_walk_through_the_api_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(shell_of("docs/api.md"), tmp_path, live)
    assert heads(printed) == [201, 409, 202, 409, 204, 400, 404, 401]
    assert codes(printed) == ["precondition-failed", "duplicate-message", "duplicate-message", "not-dead",
                              "invalid-request", "not-found", "unauthorized"]  # fmt: skip
    assert '"created": 2, "duplicates": 1, "rejected": 0' in printed
    assert re.findall(r'"result": "(\w+)"', printed) == ["delivered", "dead", "dead", "dead", "dead"]
    assert re.findall(r'"requeuedCount": (\d+), "skippedCount": (\d+)', printed) == [("0", "1"), ("1", "0")]
    assert re.findall(r'"deletedCount": (\d+)', printed) == ["1"]
    assert re.findall(r'"deadCount": (\d+)', printed) == ["2", "0"]
    faults = next(one for one in documents(printed) if one.get("code") == "invalid-request")["errors"]
    assert {one["field"] for one in faults} == {"X-Broker-Message-Priority", "X-Broker-Message-ID"}


def test_the_calls_of_webhook_broker_do_what_they_did(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(shell_of("docs/upgrading-from-webhook-broker.md"), tmp_path, live)
    assert heads(printed) == [201, 409, 201, 201]
    assert codes(printed) == ["duplicate-message"]
    assert re.findall(r"^(INFLIGHT|DELIVERED|DEAD|requeued:) (\d+)$", printed, re.MULTILINE) == [
        ("INFLIGHT", "202"), ("DELIVERED", "202"), ("INFLIGHT", "202"), ("DEAD", "202"),
        ("requeued:", "202"), ("INFLIGHT", "202"), ("DEAD", "202"), ("INFLIGHT", "202"), ("DEAD", "202"),
    ]  # fmt: skip
    told = documents(printed)
    assert [one["name"] for one in told[:4]] == [
        "Sample producer", "Sample channel", "Sample consumer", "The sample channel"
    ]  # fmt: skip
    assert next(one for one in told if "headers" in one)["headers"] == {"X-Trace": "abc"}
    assert next(one for one in told if "counts" in one)["counts"]["SCHEDULED_SCHEDULED"]["Count"] == 1
    assert 'dead_job_count{channel="sample-channel",consumer="sample-consumer"} 1.0\n' in printed
    assert (told[-3]["requeuedCount"], told[-2]["deletedCount"]) == (1, 1)
    standing = {one["status"]: one["count"] for one in told[-1]["sample-channel"]["sample-consumer"]}
    assert standing == {"QUEUED": 1, "INFLIGHT": 0, "DELIVERED": 1, "DEAD": 0, "ARCHIVED": 0}


def test_the_figures_of_the_monitoring_page_are_there(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        execute(ENVIRONMENT.replace(ADDRESS, live.url) + DEAD_ORDERS, tmp_path)
        printed = run("export BROKER_TOKEN=$(cat var/admin-token)\n" + shell_of("docs/monitoring.md"), tmp_path, live)
    assert printed.count('{"status": "ok"}200\n') == 2
    status, jobs, stats, history = documents(printed)
    assert [one["deadCount"] for one in status["consumers"]] == [3]
    assert [one["count"] for one in jobs["orders"]["billing"] if one["status"] == "DEAD"] == [3]
    assert (stats["queue_size"], list(history)) == (3, ["history", "pages"])
    assert re.search(r'^dead_job_count\{channel="orders",consumer="billing"\} 3\.0$', printed, re.MULTILINE)
    assert re.search(r"^broker_dlq_stale 0\.0$", printed, re.MULTILINE)
    assert re.search(r"^orders +billing +3 ", printed, re.MULTILINE)


DEAD_ORDERS = """
broker producer create shop --token shop-secret
broker channel create orders --token orders-secret
broker consumer create orders billing --pull
seq 1 3 | broker publish orders --producer shop --lines --channel-token orders-secret --producer-token shop-secret
broker job fail $(broker job list orders billing --json | sed -n 's/^ *"id": "\\(.*\\)",$/\\1/p')
"""


def test_the_runbook_can_be_followed(tmp_path: Path, target: Target) -> None:
    met: set[str] = set()

    def mended_after_the_first_try(request: Received) -> Answer:
        """Five bodies are wrong for good; the others fail once."""
        if request.body.startswith(b"wrong"):
            return Answer(422)
        known = (job := request.headers["x-broker-job-id"]) in met
        met.add(job)
        return Answer(204 if known else 503)

    target.rule = mended_after_the_first_try
    ready = f"""
broker producer create shop --token shop-secret
broker channel create orders --token orders-secret
broker consumer create orders billing --callback-url {target.url("/billing")} \\
  --set maxRetries=0 --set breakerThreshold=0
(seq 1 7; printf 'wrong %s\\n' 1 2 3 4 5) | broker publish orders --producer shop --lines \\
  --channel-token orders-secret --producer-token shop-secret
until broker dlq status --json | grep -q '"deadCount": 12'; do sleep 0.2; done
"""
    with running(tmp_path, BROKER_DELIVERY_ALLOWED_NETWORKS="127.0.0.0/8") as live:
        execute(ENVIRONMENT.replace(ADDRESS, live.url) + ready, tmp_path)
        printed = run(shell_of("docs/runbook.md"), tmp_path, live)
        left = httpx.get(f"{live.url}/dlq-status").json()["consumers"][0]["deadCount"]
    assert codes(printed) == []
    assert "1 requeued, 0 skipped, 0 not found." in printed
    assert "\n6 requeued, 5 skipped.\n" in printed
    assert re.findall(r"^(\d+) archived, (\d+) skipped", printed, re.MULTILINE) == [("0", "0"), ("5", "0")]
    assert "\n0 deleted, 0 skipped.\n" in printed
    assert left == 0
    assert re.findall(r"^paused +(\w+)$", printed, re.MULTILINE)[:2] == ["yes", "no"]
    assert printed.count(" dead, all exact.\n") == 2
    assert re.search(r"^broker_dlq_checkpoint_age_seconds ", printed, re.MULTILINE)
    assert re.search(r"^ok +tables ", printed, re.MULTILINE)


def test_the_walk_of_the_api_description_does_what_it_says(tmp_path: Path) -> None:
    described = yaml.safe_load((ROOT / "api-spec" / "openapi.yaml").read_text())["info"]["description"]
    (walk,) = re.findall(r"^```sh\n(.*?)^```", described, re.MULTILINE | re.DOTALL)
    with running(tmp_path) as live:
        printed = execute("ADMIN=$(cat var/admin-token)\n" + walk.replace("localhost:8080", live.url), tmp_path)
    assert heads(printed) == [201]
    assert '"id": "order-1", "payload": "{\\"order\\": 1}"' in printed


def heads(printed: str) -> list[int]:
    """The status of every answer that is shown with its head."""
    return [int(status) for status in re.findall(r"HTTP/1\.1 (\d+) ", printed)]


def codes(printed: str) -> list[str]:
    """The code of every problem, by itself or in a batch."""
    return re.findall(r'"code": "([a-z-]+)"', printed)


def documents(printed: str) -> list[dict[str, Any]]:
    """Every JSON object that fills a line."""
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{") and line.endswith("}")]


def channel_token() -> dict[str, str]:
    return {"X-Broker-Channel-Token": "orders-secret"}
