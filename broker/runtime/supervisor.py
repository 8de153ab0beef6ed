"""Keeps so many processes alive, and stops them together."""

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from broker.runtime.worker import stop_with

STOP_SECONDS = 40.0
SHORT_PAUSE, LONG_PAUSE = 0.1, 1.0
STEADY_SECONDS = 10.0
POLL_SECONDS = 0.25
log = logging.getLogger(__name__)


class Stop:
    """Set by SIGTERM or SIGINT; true as soon as one came."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    def listen(self) -> None:
        """Take both signals for the same wish; Ctrl-C in a terminal reaches every process of it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


class Supervisor:
    """Forks `count` processes that each run `work(index, stop)`, and forks again what died unasked."""

    def __init__(self, count: int, work: Callable[[int, Stop], None]) -> None:
        self._count, self._work = count, work
        self._places: dict[int, tuple[int, float]] = {}
        self._again: list[tuple[float, int]] = []

    def run(self, stop: Stop, when_started: Callable[[], None] = lambda: None) -> None:
        """Until told to stop; then every process gets SIGTERM, and after a limit SIGKILL."""
        stop.listen()
        for index in range(self._count):
            self._fork(index)
        when_started()
        while not stop():
            self._reap()
            self._restart()
            time.sleep(POLL_SECONDS)
        self._stop_all()

    def _fork(self, index: int) -> None:
        sys.stdout.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _be_child(parent, lambda stop: self._work(index, stop))
        self._places[pid] = (index, time.monotonic())

    def _reap(self) -> None:
        for pid in list(self._places):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                index, started = self._places.pop(pid)
                lived = time.monotonic() - started
                pause = SHORT_PAUSE if lived > STEADY_SECONDS else LONG_PAUSE
                log.error("worker %s (process %s) ended with status %s; it is started again", index, pid, status)
                self._again.append((time.monotonic() + pause, index))

    def _restart(self) -> None:
        now = time.monotonic()
        for entry in [entry for entry in self._again if entry[0] <= now]:
            self._again.remove(entry)
            self._fork(entry[1])

    def _stop_all(self) -> None:
        self._signal_all(signal.SIGTERM)
        ends = time.monotonic() + STOP_SECONDS
        while self._places and time.monotonic() < ends:
            for pid in list(self._places):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self._places.pop(pid)
            time.sleep(POLL_SECONDS)
        self._signal_all(signal.SIGKILL)
        for pid in self._places:
            os.waitpid(pid, 0)

    def _signal_all(self, number: int) -> None:
        for pid in self._places:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _be_child(parent: int, work: Callable[[Stop], None]) -> None:
    """Never returns: what a child leaves behind is its exit status alone."""
    code = 1
    try:
        stop = Stop()
        stop.listen()
        stop_with(parent)
        work(stop)
        code = 0
    except BaseException:
        log.exception("a worker ended")
    finally:
        logging.shutdown()
        os._exit(code)
