"""A real `broker work`, and how to know that it is up, idle, and done."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from broker.bench.client import BenchFailed
from broker.bench.deliver_fill import Filled
from broker.bench.deliver_place import Ground
from broker.bench.processes import cpu_seconds
from broker.config import Settings
from broker.domain.states import JobStatus

START_SECONDS = 30.0
STOP_SECONDS = 60.0
LOOK_EVERY = 0.01
IDLE_SECONDS, IDLE_SHARE = 0.5, 0.25


@contextmanager
def working(settings: Settings, workers: int) -> Iterator[int]:
    """Gives the process id; in the end it is told to stop, and must stop well."""
    process = subprocess.Popen(
        [sys.executable, "-m", "broker", "work"],
        env={**os.environ, **replace(settings, delivery_workers=workers, log_level="warning").to_environment()},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process.pid
    finally:
        code = _stop(process)
    if code != 0:
        raise BenchFailed(f"`broker work` ended with exit code {code}")


def _stop(process: "subprocess.Popen[bytes]") -> int:
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def warm_up(ground: Ground, pid: int, patience: float) -> None:
    """One job for each consumer is delivered, and then the engine has nothing more to do: it is up, and idle."""
    count = len(ground.keys.consumers)
    wait_until_delivered(ground, ground.filler.fill(count, ground.filler.now()), pid, max(START_SECONDS, patience))
    _wait_until_idle(pid)
    ground.sink.take()


def wait_until_delivered(ground: Ground, filled: Filled, pid: int, patience: float) -> float:
    """Gives the moment when all are DELIVERED; fails when nothing more arrives for so many seconds.

    The sink's counter is looked at until all have arrived, then the few leases, then the jobs themselves, once.
    """
    received, moved_at = 0, time.monotonic()
    while True:
        _check_alive(pid)
        seen, now = ground.sink.received, time.monotonic()
        if seen >= filled.count and not ground.filler.leases():
            if ground.filler.states(filled) == {int(JobStatus.DELIVERED): filled.count}:
                return now
            time.sleep(IDLE_SECONDS)
        if seen > received:
            received, moved_at = seen, now
        if now - moved_at > patience:
            raise BenchFailed(_told(ground, filled, patience))
        time.sleep(LOOK_EVERY)


def _told(ground: Ground, filled: Filled, patience: float) -> str:
    states = {JobStatus(status).name: count for status, count in ground.filler.states(filled).items()}
    return f"not every job was delivered: nothing new for {patience:g} s, {filled.count} jobs are {states}"


def _wait_until_idle(pid: int) -> None:
    ends = time.monotonic() + START_SECONDS
    before = cpu_seconds(pid) or 0.0
    while time.monotonic() < ends:
        time.sleep(IDLE_SECONDS)
        _check_alive(pid)
        now = cpu_seconds(pid) or 0.0
        if now - before < IDLE_SECONDS * IDLE_SHARE:
            return
        before = now
    raise BenchFailed("`broker work` does not come to rest though nothing is due")


def _check_alive(pid: int) -> None:
    """A process that has ended is seen here, and its exit code stays for the one that started it."""
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
        raise BenchFailed("`broker work` ended by itself")
