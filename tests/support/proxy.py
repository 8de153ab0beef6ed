"""A TCP proxy between broker and database that cuts the line at a commit, so that its answer is lost."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Literal, Self

from sqlalchemy import make_url

HEAD = 4
QUERY = 0x03
When = Literal["before", "after"]


class CommitCutter:
    """Passes everything on. Once armed, it cuts the next commits of transactions that inserted messages:

    `after` the database has answered it, so it is committed, or `before` the database gets to see it.
    """

    def __init__(self, database_url: str) -> None:
        target = make_url(database_url)
        self._target = (str(target.host), int(target.port or 3306))
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        readable = target.set(host=host, port=port).update_query_dict({"ssl_disabled": "true"})
        self.url = readable.render_as_string(hide_password=False)
        self._mutex, self._cuts, self._when = threading.Lock(), 0, "after"
        self.made = 0
        self._flowing = threading.Event()
        self._flowing.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.close()
        self.thaw()

    def freeze(self) -> None:
        """Pass nothing on, and break nothing off, as when the network is gone."""
        self._flowing.clear()

    def thaw(self) -> None:
        """Pass on what waits."""
        self._flowing.set()

    def wait_for_flow(self) -> None:
        """Return when something may pass."""
        self._flowing.wait()

    def arm(self, when: When, cuts: int = 1) -> None:
        """Cut so many commits from now on."""
        with self._mutex:
            self._when, self._cuts, self.made = when, cuts, 0

    def take(self) -> str | None:
        """When to cut this commit; None to let it pass."""
        with self._mutex:
            if not self._cuts:
                return None
            self._cuts -= 1
            self.made += 1
            return self._when

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            _Line(self, client, socket.create_connection(self._target)).start()


class _Line:
    """One client's way to the database and back."""

    def __init__(self, cutter: CommitCutter, client: socket.socket, database: socket.socket) -> None:
        self._cutter, self._client, self._database = cutter, client, database
        self._inserted = False
        self._cut = threading.Event()

    def start(self) -> None:
        """Both directions, each in a thread; the sockets are closed when both have ended."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with self._database, self._client:
            back = threading.Thread(target=self._to_client, daemon=True)
            back.start()
            self._to_database()
            back.join()

    def _to_database(self) -> None:
        """Packet by packet, since the statements must be seen."""
        with self._hanging_up():
            while (packet := _packet(self._client)) is not None:
                when = self._cutter.take() if self._is_commit(packet) else None
                if when == "before":
                    return
                if when == "after":
                    self._cut.set()
                self._cutter.wait_for_flow()
                self._database.sendall(packet)

    def _to_client(self) -> None:
        """Whatever comes, until the answer that shall be lost."""
        with self._hanging_up():
            while (chunk := _received(self._database)) and not self._cut.is_set():
                self._cutter.wait_for_flow()
                self._client.sendall(chunk)

    @contextlib.contextmanager
    def _hanging_up(self) -> Iterator[None]:
        """When one direction ends, both do; each side learns of it at once."""
        with contextlib.suppress(OSError):
            yield
        for end in (self._client, self._database):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _is_commit(self, packet: bytes) -> bool:
        statement = packet[HEAD + 1 : HEAD + 40].upper() if packet[HEAD : HEAD + 1] == bytes([QUERY]) else b""
        if statement.startswith(b"INSERT INTO `MESSAGE`"):
            self._inserted = True
        ends = statement.startswith((b"COMMIT", b"ROLLBACK"))
        committed, self._inserted = ends and self._inserted, self._inserted and not ends
        return committed and statement.startswith(b"COMMIT")


def _packet(source: socket.socket) -> bytes | None:
    """One packet of the MySQL protocol: three bytes of length, one of sequence, the rest."""
    head = _exactly(source, HEAD)
    return None if head is None else head + (_exactly(source, int.from_bytes(head[:3], "little")) or b"")


def _exactly(source: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        chunk = _received(source, size - len(data))
        if not chunk:
            return None
        data += chunk
    return data


def _received(source: socket.socket, size: int = 65536) -> bytes:
    """What comes next; nothing when the line is gone."""
    try:
        return source.recv(size)
    except OSError:
        return b""
