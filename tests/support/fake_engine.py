"""A container engine that answers, and has nothing to run."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _EmptyEngine(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.endswith("/_ping"):
            self._answer(200, b"OK")
        elif self.path.endswith("/version"):
            self._answer(200, b'{"ApiVersion": "1.44", "Version": "28.0.0"}')
        else:
            self._answer(404, b'{"message": "no such thing"}')

    def do_POST(self) -> None:
        self._answer(404, b'{"message": "no such image"}')

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def empty_engine() -> Iterator[str]:
    """Run the engine, and give its DOCKER_HOST."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _EmptyEngine) as engine:
        threading.Thread(target=engine.serve_forever, daemon=True).start()
        yield f"tcp://127.0.0.1:{engine.server_port}"
        engine.shutdown()
