"""A server that is no broker: it gives one answer to everything."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def answering(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Its address, of https with a context."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(answer[0])
            for name, value in answer[1].items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer[2])

        def log_message(self, *arguments: object) -> None:
            """Quietly."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
        server.shutdown()
