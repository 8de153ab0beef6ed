"""Clients that load a real broker: one raw keep-alive connection each, so that they are not what is measured."""

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

import httpx

from tests.support.brokers import ADMIN
from tests.support.walk import CHANNEL_TOKEN, PRODUCER_TOKEN, PUBLISHER

ANSWER_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and after how long."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float


class Caller:
    """One connection to a broker; raises OSError when it breaks."""

    def __init__(self, url: str) -> None:
        address = httpx.URL(url)
        self._socket = socket.create_connection((address.host, address.port or 80), ANSWER_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def publish(self, message_id: str, body: bytes = b"hello", channel: str = "channel") -> Answer:
        """POST one message under this id."""
        started = time.monotonic()
        self._socket.sendall(_request(message_id, body, channel))
        head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        content = self._exactly(int(headers.get("content-length", "0")))
        return Answer(int(head[0].split()[1]), headers, content, time.monotonic() - started)

    def _until(self, end: bytes) -> bytes:
        while end not in self._read:
            self._receive()
        found, _, self._read = self._read.partition(end)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._read) < size:
            self._receive()
        found, self._read = self._read[:size], self._read[size:]
        return found

    def _receive(self) -> None:
        chunk = self._socket.recv(65536)
        if not chunk:
            raise ConnectionResetError("the broker closed the connection")
        self._read += chunk


def _request(message_id: str, body: bytes, channel: str) -> bytes:
    fields = {**PUBLISHER, "X-Broker-Message-ID": message_id, "Content-Length": str(len(body))}
    lines = [f"POST /channel/{channel}/broadcast HTTP/1.1", "Host: broker", *(f"{k}: {v}" for k, v in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


@dataclass
class Load:
    """Clients that publish messages of their own ids and remember each answer: None where the connection broke.

    They end when the ids do, when they are told to stop, or when the broker takes no connections.
    """

    url: str
    ids: Iterable[str]
    clients: int = 4
    body: bytes = b"hello"
    answers: dict[str, Answer | None] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._ids, self._mutex, self._stopping = iter(self.ids), threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._client) for _ in range(self.clients)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self.finish()

    def finish(self) -> None:
        """Wait until every client has ended."""
        for thread in self._threads:
            thread.join()

    @property
    def sent(self) -> set[str]:
        """The ids that were sent, answered or not."""
        return {key for key, _ in self._sofar()}

    @property
    def published(self) -> list[str]:
        """The ids that were answered with 201."""
        return self.with_status(201)

    def with_status(self, status: int) -> list[str]:
        """The ids that were answered so."""
        return [key for key, answer in self._sofar() if answer is not None and answer.status == status]

    @property
    def statuses(self) -> set[int | None]:
        """Every status there was; None for no answer."""
        return {answer.status if answer else None for _, answer in self._sofar()}

    @property
    def slowest(self) -> float:
        """The longest time that an answer took."""
        return max(answer.seconds for _, answer in self._sofar() if answer)

    def _sofar(self) -> list[tuple[str, Answer | None]]:
        with self._mutex:
            return list(self.answers.items())

    def _client(self) -> None:
        while not self._stopping.is_set():
            try:
                with Caller(self.url) as caller:
                    self._publish_all(caller)
            except ConnectionRefusedError:
                return
            except OSError:
                continue

    def _publish_all(self, caller: Caller) -> None:
        while not self._stopping.is_set() and (message_id := self._next()) is not None:
            self._remember(message_id, None)
            self._remember(message_id, caller.publish(message_id, self.body))
        self._stopping.set()

    def _next(self) -> str | None:
        with self._mutex:
            return next(self._ids, None)

    def _remember(self, message_id: str, answer: Answer | None) -> None:
        with self._mutex:
            self.answers[message_id] = answer


def endless(prefix: str) -> Iterator[str]:
    """Message ids without end."""
    number = 0
    while True:
        number += 1
        yield f"{prefix}-{number}"


def set_up(url: str, consumers: int, channel: str = "channel") -> None:
    """A producer and a channel with so many pull consumers, over HTTP."""
    with httpx.Client(base_url=url, headers=ADMIN, timeout=ANSWER_SECONDS) as client:
        put(client, "/producer/producer", token=PRODUCER_TOKEN)
        put(client, f"/channel/{channel}", token=CHANNEL_TOKEN)
        for number in range(consumers):
            put(client, f"/channel/{channel}/consumer/consumer-{number}", type="pull")


def put(client: httpx.Client, path: str, **fields: str) -> None:
    """PUT that must succeed."""
    answer = client.put(path, json=fields)
    assert answer.status_code == 200, answer.text
