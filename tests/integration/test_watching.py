"""A worker and a bookkeeper without the API show their health and their metrics."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from broker.runtime.ports import free_port
from tests.integration.stopping import alive, all_delivered, children, prepare
from tests.support.brokers import ADMIN_TOKEN, StartBroker, clean_environment, wait_until
from tests.support.engines import StartEngine
from tests.support.killable import KillableServer
from tests.support.metrics import dead_jobs, sample
from tests.support.target import Target

MONITOR = "test-monitor-token"
DELIVERIES, ENGINES = "broker_deliveries_total", "broker_engine_processes"


@pytest.fixture
def address() -> str:
    """Where to show them; nobody listens there yet."""
    return f"127.0.0.1:{free_port()}"


def get(address: str, path: str, token: str | None = None) -> httpx.Response:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.get(f"http://{address}{path}", headers=headers, timeout=20)


def answers(address: str, path: str, status: int) -> bool:
    try:
        return get(address, path).status_code == status
    except httpx.TransportError:
        return False


def test_a_worker_shows_the_counts_of_all_its_processes_and_its_health(
    server_url: str, start_engine: StartEngine, target: Target, address: str
) -> None:
    broker = prepare(server_url, target, 40)
    live = start_engine(server_url, 2, BROKER_METRICS_LISTEN=address)
    assert f"Metrics at http://{address}/metrics" in live.log.read_text()
    wait_until(lambda: all_delivered(broker, 40), 30)
    text = get(address, "/metrics").text
    (told,) = [line for line in text.splitlines() if line.startswith(DELIVERIES + "{")]
    assert (told.rpartition(" ")[2], sample(text, ENGINES)) == ("40.0", 2)
    assert sample(text, "broker_delivery_seconds_count", outcome="delivered") == 40
    assert set(dead_jobs(text).values()) == {0}
    assert [get(address, path).status_code for path in ("/livez", "/readyz", "/channels")] == [200, 200, 404]
    assert live.stop() == 0
    assert "Traceback" not in live.log.read_text()


def test_the_monitor_token_applies_to_the_worker_too(
    sqlite_url: str, start_engine: StartEngine, target: Target, address: str
) -> None:
    prepare(sqlite_url, target, 1)
    start_engine(
        sqlite_url, BROKER_METRICS_LISTEN=address, BROKER_MONITOR_TOKEN=MONITOR, BROKER_ADMIN_TOKEN=ADMIN_TOKEN
    )
    wait_until(lambda: answers(address, "/livez", 200), 20)
    assert [get(address, "/metrics", token).status_code for token in (None, "wrong-token", MONITOR)] == [401, 403, 200]


@pytest.mark.alone
def test_a_worker_lives_and_is_not_ready_while_the_database_is_away(
    durable_server: KillableServer, durable_url: str, start_engine: StartEngine, target: Target, address: str
) -> None:
    prepare(durable_url, target, 3)
    start_engine(durable_url, BROKER_METRICS_LISTEN=address)
    wait_until(lambda: answers(address, "/readyz", 200), 20)
    assert sample(get(address, "/metrics").text, "broker_dlq_stale") == 0
    durable_server.kill()
    assert get(address, "/readyz").status_code == 503
    assert get(address, "/livez").status_code == 200
    assert sample(get(address, "/metrics").text, "broker_dlq_stale") == 1
    durable_server.start()
    wait_until(lambda: answers(address, "/readyz", 200), 30)


def test_an_address_that_is_taken_is_refused_in_a_sentence(
    sqlite_url: str, start_engine: StartEngine, target: Target, address: str
) -> None:
    prepare(sqlite_url, target, 1)
    first = start_engine(sqlite_url, BROKER_METRICS_LISTEN=address)
    second = subprocess.run(
        first.arguments, env=first.environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert second.returncode == 1
    assert "Cannot listen at" in second.stderr and "--metrics-listen" in second.stderr
    assert "Traceback" not in second.stderr


def test_what_answers_is_started_again_when_it_dies_and_its_folder_goes_at_the_end(
    sqlite_url: str, start_engine: StartEngine, target: Target, address: str, tmp_path: Path
) -> None:
    prepare(sqlite_url, target, 1)
    live = start_engine(sqlite_url, BROKER_METRICS_LISTEN=address, TMPDIR=str(tmp_path))
    wait_until(lambda: answers(address, "/livez", 200), 20)
    assert len(list(tmp_path.glob("broker-metrics-*"))) == 1
    last = max(children(live.process.pid))
    subprocess.run(["kill", "-KILL", str(last)], check=True)
    wait_until(lambda: not alive(last), 10)
    wait_until(lambda: answers(address, "/livez", 200), 20)
    assert live.stop() == 0
    assert list(tmp_path.glob("broker-metrics-*")) == []


def test_the_engine_of_broker_up_leaves_it_to_the_server(
    sqlite_url: str, start_broker: StartBroker, address: str
) -> None:
    live = start_broker(sqlite_url, "up", BROKER_METRICS_LISTEN=address)
    wait_until(lambda: sample(httpx.get(f"{live.url}/metrics", timeout=20).text, ENGINES) == 1, 30)
    with pytest.raises(httpx.ConnectError):
        get(address, "/livez")


@pytest.fixture
def bookkeeper(sqlite_url: str, target: Target, address: str, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`broker checkpoint` beside instances of others."""
    prepare(sqlite_url, target, 1)
    command = [sys.executable, "-m", "broker", "--database-url", sqlite_url, "checkpoint", "--metrics-listen", address]
    environment = {
        **clean_environment(),
        "BROKER_CONFIG": "none",
        "BROKER_DLQ_SUMMARY_INTERVAL": "1s",
        "BROKER_DLQ_SETTLE": "0.1s",
    }
    with (tmp_path / "checkpoint.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    yield process
    if process.poll() is None:
        process.kill()
    process.wait(20)


def test_a_bookkeeper_shows_its_checkpoints(bookkeeper: "subprocess.Popen[bytes]", address: str) -> None:
    wait_until(lambda: answers(address, "/readyz", 200), 30)
    wait_until(lambda: sample(get(address, "/metrics").text, "broker_dlq_checkpoint_age_seconds") is not None, 30)
    assert sample(get(address, "/metrics").text, ENGINES) is None
    bookkeeper.terminate()
    assert bookkeeper.wait(20) == 0
