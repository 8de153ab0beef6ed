"""What the demo's push consumers are: a small HTTP server of this machine, which fails by plan."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from broker.demo.plan import BROKEN, FLAKY, HOST


class Answer(NamedTuple):
    """What to answer."""

    status: int
    text: str = ""


OK = Answer(200, "Thank you.")
_AWAY = Answer(503, "The warehouse is closed.")
_FATES = {
    0: _AWAY,
    3: Answer(422, "An order needs an address."),
    6: Answer(403, "This customer is blocked."),
    8: Answer(413, "The warehouse is full."),
}
_BUSY = 5


def answer_to(consumer: str, order: int, attempt: int) -> Answer | None:
    """What a consumer says to an order; None hangs up without a word."""
    if consumer == BROKEN:
        return None
    if consumer != FLAKY:
        return OK
    if order % 10 == _BUSY:
        return _AWAY if attempt == 1 else OK
    return _FATES.get(order % 10, OK)


@contextmanager
def serving(port: int) -> Iterator[None]:
    """The target listens."""
    server = ThreadingHTTPServer((HOST, port), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="target", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection, which stays open for the next delivery."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        attempt = int(self.headers.get("X-Broker-Attempt", 1))
        answer = answer_to(self.path.strip("/"), _order_of(body), attempt)
        if answer is None:
            self.close_connection = True
        else:
            self._say(answer)

    def _say(self, answer: Answer) -> None:
        text = answer.text.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the broker tells what became of each delivery."""


def _order_of(body: bytes) -> int:
    """Its number; what others publish to the channel may be anything."""
    try:
        return int(json.loads(body)["order"])
    except (ValueError, TypeError, KeyError):
        return 1
