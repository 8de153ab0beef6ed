"""A real `broker serve`, and how to know that it is up."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from broker.bench import client
from broker.config import Settings

START_SECONDS, STOP_SECONDS = 60.0, 5.0


@contextmanager
def serving(settings: Settings) -> Iterator[int]:
    """A real `broker serve`; gives its process id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "broker", "serve"],
        env={**os.environ, **replace(settings, log_level="warning").to_environment()},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(process, (settings.listen.host, settings.listen.port))
        yield process.pid
    finally:
        _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """It has nothing that could be lost, and while it starts it does not listen."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(process: "subprocess.Popen[bytes]", address: tuple[str, int]) -> None:
    request = b"GET /livez HTTP/1.1\r\nHost: bench\r\n\r\n"
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        try:
            client.post(address, request, 1, 1)
            return
        except client.BenchFailed:
            time.sleep(0.1)
    raise client.BenchFailed("the broker did not start")
