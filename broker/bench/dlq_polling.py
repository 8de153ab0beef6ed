"""`/dlq-status` asked over HTTP: one question after the other, or at a steady pace while something else goes on."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from broker.bench import client
from broker.bench.children import child
from broker.bench.client import BenchFailed, Line

REQUEST = b"GET /dlq-status HTTP/1.1\r\nHost: bench\r\n\r\n"
POLL_SECONDS = 0.1
Address = tuple[str, int]


def ask(address: Address, count: int) -> list[float]:
    """So many questions over one connection; the seconds of each."""
    return client.post(address, REQUEST, 1, count)[1]


class Polls:
    """What a poller has seen, once it has ended."""

    def __init__(self) -> None:
        self.seconds: list[float] = []


@contextmanager
def polling(address: Address) -> Iterator[Polls]:
    """From a process of its own, until the block ends."""
    here, there = get_context("fork").Pipe()
    polls = Polls()
    with child(_process, there, address):
        there.close()
        yield polls
        here.send("stop")
        outcome = _received(here)
    if isinstance(outcome, BenchFailed):
        raise outcome
    polls.seconds = outcome


def _received(pipe: "Connection[Any, Any]") -> Any:
    try:
        return pipe.recv()
    except EOFError:
        return BenchFailed("the polling process ended without an answer")


def _process(pipe: Any, address: Address) -> None:
    try:
        pipe.send(_poll(pipe, address))
    except (BenchFailed, OSError) as error:
        pipe.send(BenchFailed(str(error)))


def _poll(pipe: Any, address: Address) -> list[float]:
    """Each is timed from the moment at which it was due: one that comes late waits for the one before it."""
    line, times = Line(address, REQUEST), []
    due = time.perf_counter()
    while not pipe.poll(max(0.0, due - time.perf_counter())):
        line.send()
        while not line.answered():
            pass
        times.append(time.perf_counter() - due)
        due += POLL_SECONDS
    line.socket.shutdown(socket.SHUT_RDWR)
    return times
