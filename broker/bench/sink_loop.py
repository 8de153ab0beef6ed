"""The sink's one thread: an epoll over all connections. A delayed answer waits in a queue, not in a sleep."""

import select
import socket
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

LARGEST_READ = 65_536
XID_LENGTH = 20
LENGTH, END = b"\r\nContent-Length: ", b"\r\n\r\n"
TAKE = "take"


@dataclass(frozen=True, slots=True)
class Report:
    """What arrived since the last report: every request's id with the time of its arrival, and what that cost."""

    ids: list[bytes]
    times: list[float]
    cpu_seconds: float
    most_at_once: int

    @property
    def duplicates(self) -> int:
        """Requests beyond the first for the same id."""
        return len(self.ids) - len(set(self.ids))


def listen(port: int) -> socket.socket:
    """A listening socket of this machine only."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(1024)
    listener.setblocking(False)
    return listener


class Loop:
    """One thread, one epoll."""

    def __init__(
        self, listener: socket.socket, pipe: Any, counter: Any, delay: float, status: int, header: bytes
    ) -> None:
        self.listener, self.pipe, self.counter, self.delay, self.header = listener, pipe, counter, delay, header
        self.answer = b"HTTP/1.1 %d Answer\r\nContent-Length: 2\r\n\r\nok" % status
        self.open: dict[int, socket.socket] = {}
        self.partial: dict[int, bytes] = {}
        self.late: deque[tuple[float, socket.socket]] = deque()
        self.epoll = select.epoll()
        self.running = True
        self._forget()

    def _forget(self) -> None:
        self.ids: list[bytes] = []
        self.times: list[float] = []
        self.most_at_once, self.cpu_before, self.counter.value = 0, time.process_time(), 0

    def run(self) -> None:
        for one in (self.listener, self.pipe):
            self.epoll.register(one.fileno(), select.EPOLLIN)
        special = {self.listener.fileno(): self._accept, self.pipe.fileno(): self._obey}
        while self.running:
            events = self.epoll.poll(self._wait())
            now = time.time()
            for descriptor, _ in events:
                if connection := self.open.get(descriptor):
                    self._read(descriptor, connection, now)
                else:
                    special[descriptor]()
            if self.late:
                self._answer_late()

    def _wait(self) -> float:
        return max(0.0, self.late[0][0] - time.monotonic()) if self.late else -1

    def _accept(self) -> None:
        connection, _ = self.listener.accept()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.open[connection.fileno()] = connection
        self.epoll.register(connection.fileno(), select.EPOLLIN)

    def _obey(self) -> None:
        try:
            self.pipe.recv()
        except EOFError:
            self.running = False
            return
        report = Report(self.ids, self.times, time.process_time() - self.cpu_before, self.most_at_once)
        self._forget()
        self.pipe.send(report)

    def _read(self, descriptor: int, connection: socket.socket, now: float) -> None:
        try:
            data = connection.recv(LARGEST_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(descriptor, connection)
            return
        if self.partial:
            data = self.partial.pop(descriptor, b"") + data
        if not self._note(data, now):
            self.partial[descriptor] = data
        elif self.delay:
            self.late.append((time.monotonic() + self.delay, connection))
            self.most_at_once = max(self.most_at_once, len(self.late))
        else:
            connection.send(self.answer)

    def _note(self, data: bytes, now: float) -> bool:
        """Whether the request is whole; then it is counted."""
        end = data.find(END)
        at = data.find(LENGTH, 0, end)
        if end < 0 or at < 0 or len(data) < end + 4 + int(data[at + 18 : data.find(b"\r", at + 18)]):
            return False
        at = data.find(self.header, 0, end) + len(self.header)
        self.ids.append(data[at : at + XID_LENGTH])
        self.times.append(now)
        self.counter.value += 1
        return True

    def _answer_late(self) -> None:
        now = time.monotonic()
        while self.late and self.late[0][0] <= now:
            _, connection = self.late.popleft()
            if connection.fileno() >= 0:
                connection.send(self.answer)

    def _close(self, descriptor: int, connection: socket.socket) -> None:
        self.partial.pop(descriptor, None)
        del self.open[descriptor]
        connection.close()
