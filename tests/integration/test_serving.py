"""`broker up` and `broker serve` as people start and stop them."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.brokers import ADMIN, LiveBroker, StartBroker, wait_until
from tests.support.walk import PUBLISHER


def lines_to_paste(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if line.startswith("curl ")]


def up(folder: Path) -> LiveBroker:
    """`broker up` without any setting, in a folder of its own."""
    url = f"sqlite:///{folder / 'var' / 'broker.db'}"
    return LiveBroker(url, folder / "up.log", "up", BROKER_ADMIN_TOKEN="none")


def test_up_prints_three_lines_that_publish_a_first_message_and_show_it_stored(tmp_path: Path) -> None:
    live = up(tmp_path)
    try:
        wait_until(lambda: len(lines_to_paste(live.log)) == 3, 10)
        outputs = [subprocess.check_output(line, shell=True, text=True) for line in lines_to_paste(live.log)]
        assert '"id": "hello"' in outputs[0]
        assert "201 Created" in outputs[1]
        assert '"DISPATCHED": {"Count": 1' in outputs[2]
    finally:
        assert live.stop() == 0


def test_a_second_up_finds_the_same_data_and_the_same_token(tmp_path: Path) -> None:
    live = up(tmp_path)
    token = re.search(r"Bearer ([\w-]+)'", live.log.read_text())
    assert token is not None
    admin = {"Authorization": f"Bearer {token[1]}"}
    assert httpx.put(f"{live.url}/channel/kept", headers=admin).status_code == 200
    assert live.stop() == 0
    live.start()
    try:
        assert httpx.get(f"{live.url}/channel/kept", headers=admin).json()["id"] == "kept"
        assert (tmp_path / "var" / "admin-token").stat().st_mode & 0o077 == 0
    finally:
        assert live.stop() == 0


def test_ctrl_c_stops_it_cleanly_and_says_so(tmp_path: Path) -> None:
    live = up(tmp_path)
    os.killpg(live.process.pid, signal.SIGINT)
    assert live.process.wait(20) == 0
    assert live.log.read_text().rstrip().endswith("Stopped.")
    assert "Traceback" not in live.log.read_text()


def test_a_port_that_is_taken_is_refused_in_a_sentence(sqlite_url: str, start_broker: StartBroker) -> None:
    first = start_broker(sqlite_url)
    command = [*first.arguments]
    second = subprocess.run(command, env=first.environment, capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode == 1
    assert "Cannot listen at" in second.stderr and "--listen" in second.stderr
    assert "Traceback" not in second.stderr


def test_a_request_in_progress_is_finished_when_it_is_told_to_stop(server_url: str, start_broker: StartBroker) -> None:
    live = start_broker(server_url, BROKER_HTTP_WORKERS="2")
    answers: list[int] = []
    sent = threading.Barrier(2)

    def body() -> Iterator[bytes]:
        yield b"half"
        sent.wait(10)
        live.process.send_signal(signal.SIGTERM)
        yield b"half"

    httpx.put(f"{live.url}/channel/c", headers=ADMIN, json={"token": PUBLISHER["X-Broker-Channel-Token"]})
    httpx.put(f"{live.url}/producer/producer", headers=ADMIN, json={"token": PUBLISHER["X-Broker-Producer-Token"]})

    def publish() -> None:
        answers.append(
            httpx.post(
                f"{live.url}/channel/c/broadcast", headers={**PUBLISHER, "Content-Length": "8"}, content=body()
            ).status_code
        )

    publisher = threading.Thread(target=publish)
    publisher.start()
    sent.wait(10)
    publisher.join(20)
    assert answers == [201]
    assert live.process.wait(20) == 0


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/_status", "/openapi.yaml"])
def test_every_process_of_the_server_answers(server_url: str, start_broker: StartBroker, path: str) -> None:
    live = start_broker(server_url, BROKER_HTTP_WORKERS="3")
    assert [httpx.get(f"{live.url}{path}").status_code for _ in range(12)] == [200] * 12


def test_metrics_are_summed_over_all_processes(server_url: str, start_broker: StartBroker) -> None:
    live = start_broker(server_url, BROKER_HTTP_WORKERS="3")
    for _ in range(30):
        assert httpx.get(f"{live.url}/readyz").status_code == 200
    counted = re.findall(
        r'^flask_http_request_duration_seconds_count\{endpoint="health.readyz",.*\} (\S+)$',
        httpx.get(f"{live.url}/metrics").text,
        re.MULTILINE,
    )
    assert [float(count) for count in counted] == [30.0]
