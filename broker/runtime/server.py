"""The HTTP server: granian, several processes with a pool of threads each. Chosen by measuring (docs/serving.md)."""

import os
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Self

from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from broker.runtime.metrics_folder import metrics_folder
from broker.runtime.worker import SUPERVISOR

STOP_SECONDS = 30


class CannotListen(Exception):
    """The address is taken, or not one of this machine."""

    @classmethod
    def at(cls, host: str, port: int, error: OSError, option: str) -> Self:
        """Told with what to do about it."""
        return cls(f"Cannot listen at {host}:{port}: {error.strerror}. Choose another with {option}.")


@dataclass(frozen=True, slots=True)
class Serving:
    """Where and with how many hands to serve."""

    host: str
    port: int
    workers: int
    threads: int


def serve(
    target: str,
    how: Serving,
    environment: Mapping[str, str],
    when_started: Callable[[], None],
    beside: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Serve until told to stop: SIGTERM and SIGINT let requests in progress finish.

    `target` names an application factory (`module:function`); each process calls it, with `environment` in place.
    `beside` is entered while it serves, with the same environment.
    """
    _refuse_taken(how.host, how.port)
    os.environ.update({**environment, SUPERVISOR: str(os.getpid())})
    with metrics_folder():
        server = Granian(
            target,
            address=how.host,
            port=how.port,
            interface=Interfaces.WSGI,
            http=HTTPModes.http1,
            websockets=False,
            workers=how.workers,
            blocking_threads=how.threads,
            backpressure=max(how.threads * 2, 128),
            respawn_failed_workers=True,
            respawn_interval=0.2,
            workers_kill_timeout=STOP_SECONDS,
            factory=True,
            log_level=LogLevels.error,
        )
        server.on_startup(when_started)
        with beside():
            server.serve()


def _refuse_taken(host: str, port: int) -> None:
    """The server shares its port among its processes, so it would share it with a stranger too."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotListen.at(host, port, error, "--listen") from error
