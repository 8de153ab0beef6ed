"""Brokers for tests: one inside the test's process, and real ones in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from flask import Flask
from flask.testing import FlaskClient

from broker.api.app import create_app
from broker.api.metrics import Metrics
from broker.config import load
from broker.domain.clock import Clock
from broker.operations.parts import Parts
from broker.runtime.ports import free_port
from broker.store import schema
from broker.wiring import build_parts

ADMIN_TOKEN = "test-admin-token"
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
START_SECONDS = 60


@dataclass
class Broker:
    """An application in this process, on a database of its own."""

    app: Flask
    parts: Parts
    clock: Clock
    metrics: Metrics

    @property
    def client(self) -> FlaskClient:
        """A caller without credentials of its own."""
        return self.app.test_client()


def make_broker(database_url: str, upgrade: bool = True, **options: object) -> Broker:
    """A broker with the admin token set, unless the options say otherwise."""
    clock, metrics = Clock(), Metrics()
    given = {
        "database_url": database_url,
        "admin_token": ADMIN_TOKEN,
        "delivery_allowed_networks": "127.0.0.0/8",
        **options,
    }
    settings = load(None, {"BROKER_CONFIG": "none"}, given)
    parts = build_parts(settings, metrics.count_retry, clock, metrics.dead_letters)
    if upgrade:
        schema.upgrade(parts.database)
    return Broker(create_app(parts, metrics), parts, clock, metrics)


@pytest.fixture
def broker(database_url: str) -> Iterator[Broker]:
    """A broker on each database in turn."""
    made = make_broker(database_url)
    yield made
    made.parts.database.dispose()


class LiveBroker:
    """`broker serve` (or `up`) as its users start it."""

    def __init__(
        self, database_url: str, log: Path, command: str = "serve", options: tuple[str, ...] = (), **environment: str
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        place = ["--database-url", database_url, command, *options, "--listen", f"127.0.0.1:{self.port}"]
        self.arguments = [sys.executable, "-m", "broker", *place]
        own = {"BROKER_CONFIG": "none", "BROKER_ADMIN_TOKEN": ADMIN_TOKEN, **environment}
        self.environment = {**clean_environment(), **own}
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.arguments, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        try:
            wait_until(
                self._answers, START_SECONDS, lambda: f"the broker did not start: {self.log.read_text()[-3000:]}"
            )
        except BaseException:
            self.kill()
            raise

    def stop(self) -> int:
        """Ask it to stop and wait; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_SECONDS)

    def kill(self) -> None:
        """End the whole process tree at once, as a power cut would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(START_SECONDS)

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"the broker ended at its start: {self.log.read_text()[-3000:]}")
        try:
            return httpx.get(f"{self.url}/livez", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False


StartBroker = Callable[..., LiveBroker]


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[StartBroker]:
    """Starts real brokers on a database whose schema it brings up to date; ends them with the test."""
    started: list[LiveBroker] = []

    def start(database_url: str, command: str = "serve", **environment: str) -> LiveBroker:
        made = make_broker(database_url)
        made.parts.database.dispose()
        started.append(LiveBroker(database_url, tmp_path / f"broker-{len(started)}.log", command, (), **environment))
        return started[-1]

    yield start
    for live in started:
        if live.process.poll() is None:
            live.kill()


def wait_until(
    done: Callable[[], bool], seconds: float, otherwise: Callable[[], str] = lambda: "it did not happen"
) -> None:
    """Poll until it is so, within a limit."""
    ends = time.monotonic() + seconds
    while not done():
        if time.monotonic() > ends:
            raise AssertionError(otherwise())
        time.sleep(0.02)


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
