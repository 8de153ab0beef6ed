"""The database goes away, comes back, or loses sessions, under load: 503 at worst, and never half a message."""

import contextlib
import json
import subprocess
import sys

import httpx
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

from broker.runtime.ports import free_port
from tests.failures.exactness import assert_exact
from tests.support.brokers import LiveBroker, StartBroker, wait_until
from tests.support.killable import KillableServer
from tests.support.load import Answer, Load, endless, set_up

CONSUMERS = 3
LONGEST_ANSWER = 10
pytestmark = pytest.mark.alone


@pytest.fixture
def live(durable_url: str, start_broker: StartBroker) -> LiveBroker:
    """A broker on the durable server, with a channel to publish to."""
    started = start_broker(durable_url, BROKER_HTTP_WORKERS="2")
    set_up(started.url, CONSUMERS)
    return started


@pytest.mark.parametrize("end", ["kill", "shut_down"])
def test_a_database_that_ends_under_load_gives_503_and_service_by_itself_when_it_is_back(
    end: str, durable_server: KillableServer, durable_url: str, live: LiveBroker
) -> None:
    with Load(live.url, endless("m")) as load:
        wait_until(lambda: len(load.published) >= 100, 30)
        getattr(durable_server, end)()
        wait_until(lambda: len(load.with_status(503)) >= 20, 30)
        durable_server.start()
        enough = len(load.published) + 100
        wait_until(lambda: len(load.published) >= enough, 30)
    _assert_refused_or_stored(load, durable_url)
    _publish_again(live, load, durable_url)


def test_sessions_killed_in_the_middle_of_transactions_cost_no_message(
    durable_server: KillableServer, durable_url: str, live: LiveBroker
) -> None:
    with Load(live.url, endless("m"), clients=8) as load:
        for _ in range(10):
            enough = len(load.published) + 20
            wait_until(lambda: len(load.published) >= enough, 30)  # noqa: B023 - polled at once
            assert _kill_sessions(durable_server, make_url(durable_url).database)
    assert 'broker_database_retries_total{error="2013",transaction="publish"}' in httpx.get(f"{live.url}/metrics").text
    _assert_refused_or_stored(load, durable_url)
    _publish_again(live, load, durable_url)


def _kill_sessions(server: KillableServer, database: str | None) -> int:
    """End every session of the broker, whatever it is doing right now; gives how many."""
    with server.connect() as connection:
        rows = [row for row in connection.execute(text("SHOW PROCESSLIST")).mappings() if row["db"] == database]
        for row in rows:
            with contextlib.suppress(DBAPIError):
                connection.exec_driver_sql(f"KILL CONNECTION {int(row['Id'])}")
    return len(rows)


def _assert_refused_or_stored(load: Load, database_url: str) -> None:
    assert load.statuses <= {201, 503}
    assert load.slowest < LONGEST_ANSWER
    for key in load.with_status(503):
        _assert_problem(load.answers[key])
    assert_exact(database_url, load.published, CONSUMERS)


def _assert_problem(answer: Answer | None) -> None:
    assert answer is not None
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) > 0
    assert json.loads(answer.body)["code"] == "unavailable"


def _publish_again(live: LiveBroker, before: Load, database_url: str) -> None:
    """What was refused can be sent again under its id, and is then there once."""
    with Load(live.url, before.with_status(503)) as load:
        load.finish()
    assert load.statuses <= {201, 409}
    assert assert_exact(database_url, before.answers, CONSUMERS).rows == len(before.answers)


def test_readiness_follows_the_database_and_liveness_does_not(durable_server: KillableServer, live: LiveBroker) -> None:
    assert _probe(live, "/readyz") == _probe(live, "/livez") == 200
    durable_server.kill()
    assert (_probe(live, "/readyz"), _probe(live, "/livez")) == (503, 200)
    durable_server.start()
    wait_until(lambda: _probe(live, "/readyz") == 200, 10)
    assert _probe(live, "/livez") == 200


def test_monitoring_never_says_none_are_dead_when_it_cannot_know(
    durable_server: KillableServer, live: LiveBroker
) -> None:
    paths = ("/dlq-status", "/job-status", "/dlq-stats", "/dlq-history")
    assert {_probe(live, path) for path in paths} == {200}
    before = httpx.get(f"{live.url}/dlq-status", timeout=LONGEST_ANSWER).json()
    durable_server.kill()
    for path in paths:
        answer = httpx.get(live.url + path, timeout=LONGEST_ANSWER)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
        assert "consumers" not in answer.json() and "queue_size" not in answer.json()
    durable_server.start()
    wait_until(lambda: _probe(live, "/dlq-status") == 200, 10)
    assert [one["deadCount"] for one in httpx.get(f"{live.url}/dlq-status").json()["consumers"]] == [
        one["deadCount"] for one in before["consumers"]
    ]
    assert before["consumers"]


def _probe(live: LiveBroker, path: str) -> int:
    return httpx.get(live.url + path, timeout=LONGEST_ANSWER).status_code


def test_a_broker_without_its_database_says_so_and_ends(durable_server: KillableServer, durable_url: str) -> None:
    durable_server.kill()
    command = [sys.executable, "-m", "broker", "--database-url", durable_url, "serve", "--listen"]
    run = subprocess.run(
        [*command, f"127.0.0.1:{free_port()}"], capture_output=True, text=True, timeout=30, check=False
    )
    assert run.returncode == 3
    assert "The database cannot serve" in run.stderr
    assert "refused" in run.stderr
    assert "Traceback" not in run.stderr + run.stdout
