"""A small HTTP server for probes and scrapes, beside processes that serve nothing else."""

import importlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from broker.runtime.server import CannotListen

BACKLOG = 64
REQUEST_SECONDS = 30.0
POLL_SECONDS = 0.1


def listen(host: str, port: int, option: str) -> socket.socket:
    """A socket that listens, opened early enough to refuse an address that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise CannotListen.at(host, port, error, option) from error
    return listening


@contextmanager
def answering(listening: socket.socket, target: str, *arguments: object) -> Iterator[None]:
    """Serves, from a thread, the application that `target` (`module:function`) makes in this process."""
    module, _, name = target.partition(":")
    make: Callable[..., Any] = getattr(importlib.import_module(module), name)
    server = _Server(listening, make(*arguments))
    threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), name="small server", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()


class _Handler(WSGIRequestHandler):
    """Says nothing of each request, and does not wait for ever for one."""

    timeout = REQUEST_SECONDS

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingMixIn, WSGIServer):
    """On a socket that listens already; a thread for each request."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, application: Any) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_name, self.server_port = listening.getsockname()[:2]
        self.setup_environ()
        self.set_app(application)
