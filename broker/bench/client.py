"""A lean HTTP client: sends one prepared request again and again over many connections, each waiting for its answer."""

import selectors
import socket
import time
from multiprocessing import get_context
from typing import Any

from broker.bench.children import child

LONGEST_SECONDS = 300


class BenchFailed(Exception):
    """The broker did not answer as it must."""


class Line:
    """One keep-alive connection."""

    def __init__(self, address: tuple[str, int], request: bytes) -> None:
        self.request = request
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.sent_at = 0.0

    def send(self) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(self.request)

    def answered(self) -> bool:
        """Whether the whole answer is there; raises when it is not a good one."""
        part = self.socket.recv(65536)
        if not part:
            raise BenchFailed("the broker closed a connection")
        self.received += part
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return False
        if head[9:12] not in (b"200", b"201"):
            raise BenchFailed(self.received.decode("utf-8", "replace")[:500])
        self.received = b""
        return True


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line[:15].lower() == b"content-length:":
            return int(line[15:])
    return 0


def post(address: tuple[str, int], request: bytes, connections: int, count: int) -> tuple[float, list[float]]:
    """`count` answered requests over so many connections, from a process of its own: seconds, and every answer's."""
    here, there = get_context("fork").Pipe(duplex=False)
    with child(_process, there, address, request, connections, count):
        there.close()
        try:
            outcome = here.recv()
        except EOFError:
            raise BenchFailed("the client process ended without an answer") from None
    if isinstance(outcome, BenchFailed):
        raise outcome
    return outcome[0], outcome[1]


def _process(pipe: Any, address: tuple[str, int], request: bytes, connections: int, count: int) -> None:
    try:
        pipe.send(_run(address, request, connections, count))
    except (BenchFailed, OSError) as error:
        pipe.send(BenchFailed(str(error)))


def _run(address: tuple[str, int], request: bytes, connections: int, count: int) -> tuple[float, list[float]]:
    selector = selectors.DefaultSelector()
    lines = [Line(address, request) for _ in range(min(connections, count))]
    for line in lines:
        selector.register(line.socket, selectors.EVENT_READ, line)
    begun = time.perf_counter()
    times: list[float] = []
    for line in lines:
        line.send()
    unsent = count - len(lines)
    while len(times) < count:
        for key, _ in selector.select(LONGEST_SECONDS):
            line = key.data
            if line.answered():
                times.append(time.perf_counter() - line.sent_at)
                if unsent:
                    unsent -= 1
                    line.send()
    return time.perf_counter() - begun, times
