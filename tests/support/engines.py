"""Engines for tests: one driven by hand inside the test's process, and real ones in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from broker.delivery.engine import Engine
from broker.delivery.telemetry import Landed, Silence
from tests.support.brokers import START_SECONDS, Broker, clean_environment, wait_until

LOOPBACK = "127.0.0.0/8"
LONGEST_SECONDS = 30.0


class Ledger(Silence):
    """Counts what the engine tells."""

    def __init__(self) -> None:
        self.entries = 0

    def delivered(self, landed: Landed) -> None:
        """So many landed."""
        self.entries += sum(map(len, landed.values()))

    def finished(self, results: Mapping[str, int]) -> None:
        """So many were written."""
        self.entries += sum(results.values())

    def given_back(self, count: int) -> None:
        """So many wait again."""
        self.entries += count


class Hand:
    """Turns the engine's crank: `deliver` does all that is due at the broker's present time, and then stops.

    A retry that is due at once may be claimed, sent and written within one step, so that the engine looks idle
    before and after it: the end is reached when a whole turn did nothing.
    """

    def __init__(self, broker: Broker) -> None:
        self.ledger = Ledger()
        self.engine = Engine(broker.parts, "test-engine", telemetry=self.ledger)

    def deliver(self) -> None:
        """Everything that is due, and what becomes due by it."""
        before = -1
        while before != self.ledger.entries:
            before = self.ledger.entries
            self._turn()

    def _turn(self) -> None:
        """Until a fresh look finds nothing."""
        ends = time.monotonic() + LONGEST_SECONDS
        quiet = 0
        while quiet < 2:
            if time.monotonic() > ends:
                raise AssertionError("the engine does not come to rest")
            if self.engine.idle:
                self.engine.look_now()
            self.engine.step(0.002)
            quiet = quiet + 1 if self.engine.idle else 0

    def close(self) -> None:
        self.engine.drain()


@pytest.fixture
def hand(broker: Broker) -> Iterator[Hand]:
    """The engine of the `broker` fixture."""
    made = Hand(broker)
    yield made
    made.close()


class LiveEngine:
    """`broker work` as its users start it."""

    def __init__(self, database_url: str, log: Path, workers: int = 1, **environment: str) -> None:
        self.log = log
        self.arguments = [
            sys.executable,
            "-m",
            "broker",
            "--database-url",
            database_url,
            "work",
            "--workers",
            str(workers),
        ]
        own = {"BROKER_CONFIG": "none", "BROKER_DELIVERY_ALLOWED_NETWORKS": LOOPBACK, **environment}
        self.environment = {**clean_environment(), **own}
        self.start()

    def start(self) -> None:
        """Start it and wait until it works."""
        before = self._told()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.arguments, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        try:
            wait_until(
                lambda: self._told() > before,
                START_SECONDS,
                lambda: f"it did not start: {self.log.read_text()[-3000:]}",
            )
        except BaseException:
            self.kill()
            raise

    def stop(self) -> int:
        """Ask it to stop and wait; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        """End the whole process tree at once, as a power cut would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(START_SECONDS)

    def _told(self) -> int:
        return self.log.read_text().count(" delivers with ") if self.log.exists() else 0


StartEngine = Callable[..., LiveEngine]


@pytest.fixture
def start_engine(tmp_path: Path) -> Iterator[StartEngine]:
    """Starts real engines on a database whose schema is up to date; ends them with the test."""
    started: list[LiveEngine] = []

    def start(database_url: str, workers: int = 1, **environment: str) -> LiveEngine:
        started.append(LiveEngine(database_url, tmp_path / f"engine-{len(started)}.log", workers, **environment))
        return started[-1]

    yield start
    for live in started:
        if live.process.poll() is None:
            live.kill()
