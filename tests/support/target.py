"""A real HTTP(S) server that deliveries go to: records every request, and answers as it is told."""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import pytest

END = b"\r\n\r\n"


class Received(NamedTuple):
    """A request: header names in lower case, values joined by a comma when there are several."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    arrived: float
    at: float
    connection: int


@dataclass(frozen=True)
class Answer:
    """What to answer: `raw` is sent as it is, and `close` ends the connection after the answer.

    `trickle` is the pause in seconds between the bytes of the body.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0.0
    hang: bool = False
    drop: bool = False
    close: bool = False
    trickle: float = 0.0
    raw: bytes | None = None

    def head(self) -> bytes:
        """Everything before the body."""
        lines = [f"HTTP/1.1 {self.status} Answer", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join(lines).encode() + END


Rule = Callable[[Received], Answer]
OK = Answer()


class Target:
    """Serves from a thread of its own. `rule` may be changed at any time; `connections` counts those accepted."""

    def __init__(
        self, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, rule: Rule = lambda _: OK, port: int = 0
    ) -> None:
        self.host, self.rule, self._tls = host, rule, tls
        self.received: list[Received] = []
        self.problems: list[Exception] = []
        self.connections, self.port = 0, port
        self.more = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self.problems and error == (None, None, None):
            raise self.problems[0]

    def url(self, path: str = "/", host: str | None = None) -> str:
        """An address of this server; another name of it may be given."""
        name = host or (f"[{self.host}]" if ":" in self.host else self.host)
        return f"{'https' if self._tls else 'http'}://{name}:{self.port}{path}"

    def attempts_of(self, message_id: str) -> list[Received]:
        """The deliveries of one message, in the order of their arrival."""
        return [one for one in list(self.received) if one.headers.get("x-broker-message-id") == message_id]

    def wait_for(self, count: int, seconds: float = 20.0) -> list[Received]:
        """The requests, when there are so many; an AssertionError when they do not come."""
        with self.more:
            assert self.more.wait_for(lambda: len(self.received) >= count, seconds), f"{len(self.received)} came"
        return self.received

    def answer_to(self, request: Received) -> Answer:
        """Record it and ask the rule; a rule that fails is told when the target is closed."""
        with self.more:
            self.received.append(request)
            self.more.notify_all()
        try:
            return self.rule(request)
        except Exception as error:  # noqa: BLE001 - the server must go on; it is raised at the end
            self.problems.append(error)
            return Answer(500, body=repr(error).encode())

    def opened(self) -> int:
        """Count a new connection and return its number."""
        self.connections += 1
        return self.connections

    async def _listen(self) -> asyncio.Server:
        return await self._loop.create_server(lambda: _Line(self), self.host, self.port, ssl=self._tls, backlog=1024)

    async def _stop(self) -> None:
        """Accept no more, then end what is open; a server that is closed while it accepts loses a socket."""
        for listener in self._server.sockets:
            self._loop.remove_reader(listener.fileno())
        while len(asyncio.all_tasks()) > 1 or self._open():
            for transport in self._open():
                transport.abort()
            await asyncio.sleep(0.001)
        self._server.close()

    def _open(self) -> list[asyncio.Transport]:
        """Also connections that shake hands, which only the loop itself knows."""
        known = tuple(vars(self._loop)["_transports"].values())
        return [transport for transport in known if vars(transport)["_sock"] is not None]


class _Line(asyncio.Protocol):
    """One connection: requests one after the other."""

    def __init__(self, target: Target) -> None:
        self._target, self._data, self._busy = target, b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._out = transport
        self._number = self._target.opened()

    def data_received(self, data: bytes) -> None:
        self._data += data
        self._next()

    def _next(self) -> None:
        while not self._busy and (request := self._request()) is not None:
            self._busy = True
            self._answer(self._target.answer_to(request))

    def _request(self) -> Received | None:
        """The next whole request that has come in."""
        head, end, rest = self._data.partition(END)
        lines = head.decode("utf-8", "surrogateescape").split("\r\n")
        headers = _fields(lines[1:])
        size = int(headers.get("content-length", "0"))
        if not end or len(rest) < size:
            return None
        self._data = rest[size:]
        method, path, _ = lines[0].split(" ", 2)
        return Received(method, path, headers, rest[:size], time.monotonic(), time.time(), self._number)

    def _answer(self, answer: Answer) -> None:
        loop = asyncio.get_running_loop()
        if answer.drop:
            loop.call_later(answer.delay, self._out.close)
        elif answer.delay:
            loop.call_later(answer.delay, self._write, answer)
        elif not answer.hang:
            self._write(answer)

    def _write(self, answer: Answer) -> None:
        """The whole answer, or its head and then byte after byte."""
        if self._out.is_closing():
            return
        if answer.trickle:
            self._out.write(answer.head())
            self._trickle(answer, 0)
            return
        self._out.write(answer.head() + answer.body if answer.raw is None else answer.raw)
        if answer.close:
            self._out.close()
        self._busy = False
        self._next()

    def _trickle(self, answer: Answer, sent: int) -> None:
        if self._out.is_closing():
            return
        self._out.write(answer.body[sent : sent + 1])
        asyncio.get_running_loop().call_later(answer.trickle, self._trickle, answer, sent + 1)


def _fields(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        low, value = name.lower(), value.strip()
        found[low] = f"{found[low]}, {value}" if low in found else value
    return found


@pytest.fixture
def target() -> Iterator[Target]:
    """A target on 127.0.0.1 that answers 200 until it is told otherwise."""
    with Target() as running:
        yield running
