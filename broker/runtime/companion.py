"""A command that runs beside the server: started with it, started again when it dies, stopped with it."""

import logging
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Self

STOP_SECONDS = 45.0
PAUSE_SECONDS, LONGEST_PAUSE = 1.0, 30.0
STEADY_SECONDS = 10.0
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

    def _start(self) -> "subprocess.Popen[bytes]":
        """In a group of its own: Ctrl-C at the terminal is for us, and we stop it."""
        return subprocess.Popen(self._command, stdout=subprocess.DEVNULL, process_group=0)  # noqa: S603 - our own

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        started = time.monotonic()
        while process.poll() is None and not self._stopping.wait(0.05):
            pass
        if self._stopping.is_set():
            _stop(process)
        else:
            self._rest(process.returncode, time.monotonic() - started)

    def _rest(self, status: int, lived: float) -> None:
        """One that cannot even start is tried less and less often: each start costs seconds of CPU."""
        pause = PAUSE_SECONDS if lived > STEADY_SECONDS else self._pause
        log.error("the companion ended with status %s; it is started again in %g s", status, pause)
        self._pause = min(pause * 2, LONGEST_PAUSE)
        self._stopping.wait(pause)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
