"""What a serving process does before it serves: it obeys its supervisor alone, and does not outlive it."""

import ctypes
import gc
import os
import signal
import sys

SUPERVISOR = "BROKER_SUPERVISOR_PID"
_PR_SET_PDEATHSIG = 1
_YOUNG_OBJECTS = 20_000


def obey_supervisor() -> None:
    """Ctrl-C reaches the whole terminal group: the supervisor answers it and tells its workers to stop, once.

    Two signals at the same time would leave granian's worker waiting for itself, so SIGINT is blocked here. Until the
    server has put its own handlers in place, SIGTERM ends the process at once.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    stop_with(int(os.environ[SUPERVISOR]))


def stop_with(parent: int) -> None:
    """A worker whose supervisor was killed would keep the port, or its jobs; Linux tells it."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def collect_less_often() -> None:
    """What is loaded by now stays: the collector need not walk it again for every few hundred values of a request."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)
