"""A command that runs beside the server: started with it, started again when it dies, stopped with it."""

import logging
import os
import signal
import threading
import time
from collections.abc import Sequence
from typing import Self

STOP_SECONDS = 45.0
PAUSE_SECONDS, LONGEST_PAUSE = 1.0, 30.0
STEADY_SECONDS = 10.0
POLL_SECONDS = 0.05
log = logging.getLogger(__name__)


class Companion:
    """Use it as a context; the process inherits the environment as it is at the start."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._stopping = threading.Event()
        self._pause = PAUSE_SECONDS
        self._thread = threading.Thread(target=self._keep, name="companion", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join(STOP_SECONDS + PAUSE_SECONDS)

    def _keep(self) -> None:
        """This thread starts the process and outlives it, so that the system can tell it when all of us die."""
        while not self._stopping.is_set():
            self._watch(self._start())

    def _start(self) -> "_Process":
        return _Process(self._command)

    def _watch(self, process: "_Process") -> None:
        started = time.monotonic()
        while process.poll() is None and not self._stopping.wait(POLL_SECONDS):
            pass
        if self._stopping.is_set():
            _stop(process)
        else:
            self._rest(process.poll(), time.monotonic() - started)

    def _rest(self, status: int | None, lived: float) -> None:
        """One that cannot even start is tried less and less often: each start costs seconds of CPU."""
        pause = PAUSE_SECONDS if lived > STEADY_SECONDS else self._pause
        log.error("the companion ended with status %s; it is started again in %g s", status, pause)
        self._pause = min(pause * 2, LONGEST_PAUSE)
        self._stopping.wait(pause)


class _Process:
    """A child in a group of its own: Ctrl-C at the terminal is for us, and we stop it.

    It is spawned without a pipe to us, unlike `subprocess` does it: a server that forks its workers at the same moment
    would hold the other end open, and this thread would wait for ever instead of watching.
    """

    def __init__(self, command: list[str]) -> None:
        nothing = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        self._pid = os.posix_spawn(command[0], command, os.environ, file_actions=[nothing], setpgroup=0)
        self._status: int | None = None

    def poll(self) -> int | None:
        """How it ended; None while it lives."""
        if self._status is None:
            ended, status = os.waitpid(self._pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if ended else None
        return self._status

    def signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self._pid, number)

    def ends_within(self, seconds: float) -> bool:
        """Wait for its end, within a limit."""
        limit = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < limit:
            time.sleep(POLL_SECONDS)
        return self.poll() is not None


def _stop(process: _Process) -> None:
    process.signal(signal.SIGTERM)
    if not process.ends_within(STOP_SECONDS):
        process.signal(signal.SIGKILL)
        process.ends_within(STOP_SECONDS)
