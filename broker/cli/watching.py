"""Health and metrics of a command that serves no API."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from socket import socket

from broker.cli.errors import Refused
from broker.config import Settings
from broker.domain.setting_addresses import HostPort
from broker.runtime.metrics_folder import metrics_folder
from broker.runtime.server import CannotListen
from broker.runtime.small_server import answering, listen

TARGET = "broker.api.watching:application"
OPTION = "--metrics-listen"
NAP_SECONDS = 0.1


@contextmanager
def watched(settings: Settings, companion: bool) -> Iterator[socket | None]:
    """A socket for those who ask, and a folder for what is counted; none for the companion of a server."""
    wanted = None if companion else settings.metrics_listen
    if wanted is None:
        yield None
        return
    try:
        listening = listen(wanted.host, wanted.port, OPTION)
    except CannotListen as error:
        raise Refused(str(error)) from error
    with listening, metrics_folder():
        yield listening


def answer(listening: socket, settings: Settings) -> AbstractContextManager[None]:
    """From a thread of this process."""
    return answering(listening, TARGET, settings)


def answer_until(stop: Callable[[], bool], listening: socket, settings: Settings) -> None:
    """As the only work of this process."""
    with answer(listening, settings):
        while not stop():
            time.sleep(NAP_SECONDS)


def told(listening: socket | None) -> str:
    """Where to ask, as the end of a greeting."""
    if listening is None:
        return ""
    return f" Metrics at http://{HostPort(*listening.getsockname()[:2])}/metrics"
