"""A database server of the tests' own, which they may restart and kill."""

import contextlib
import random
import secrets
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.support.binaries import ServerBinary, find_binary
from tests.support.errors import ServerFailed
from tests.support.home import Home
from tests.support.killable import KillableServer
from tests.support.options import common_options

# Below the ports that systems give to outgoing connections: a client that keeps trying to reach a stopped
# server on such a port may end up connected to itself, and then the server cannot have its port back.
PORTS = range(20_000, 32_000)
START_SECONDS = 60.0
USER = "broker"


class PrivateServer(KillableServer):
    """A server process with its data in a temporary folder; make one with `start_new`."""

    kind = "private"
    user = USER

    def __init__(self, binary: ServerBinary, home: Home, options: Sequence[str]) -> None:
        self.home = home
        self.port = free_port()
        self._binary = binary
        self._options = options
        self._password = secrets.token_hex(16)
        super().__init__(f"mysql+pymysql://{self.user}:{self._password}@127.0.0.1:{self.port}/?ssl_disabled=true")

    @classmethod
    def start_new(
        cls,
        options: Sequence[str] = (),
        fast: bool = False,
        binary: ServerBinary | None = None,
        parent: Path | None = None,
    ) -> Self:
        """Set up and start a server; its folder goes into `parent`, and `options` override the usual ones."""
        server = cls(binary or find_binary(), Home(parent), (*common_options(fast), *options))
        try:
            server._initialise()
            server.start()
        except BaseException:
            server.stop()
            raise
        return server

    @property
    def pid(self) -> int:
        """The number of the server process."""
        return self.home.pid

    @property
    def running(self) -> bool:
        return self.home.running

    def start(self) -> None:
        self.home.launch(self._command())
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if not self.running or time.monotonic() > deadline:
                self.kill()
                raise ServerFailed(f"{self._binary.path} did not start:\n{self.log_tail()}")
            time.sleep(0.02)

    def shut_down(self) -> None:
        self.home.end(signal.SIGTERM)

    def kill(self) -> None:
        self.home.end(signal.SIGKILL)

    def stop(self) -> None:
        """End the server and remove its data."""
        self.home.close()

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of what the server wrote about itself."""
        return "\n".join(self.home.log.read_text(errors="replace").splitlines()[-lines:])

    def _initialise(self) -> None:
        (self.home.path / "init.sql").write_text(
            f"CREATE USER IF NOT EXISTS '{self.user}'@'127.0.0.1' IDENTIFIED BY '{self._password}';\n"
            f"GRANT ALL ON *.* TO '{self.user}'@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        if self.home.run(self._binary.initialise_command(self.home.path / "data"), START_SECONDS):
            raise ServerFailed(f"{self._binary.path} could not set up its data:\n{self.log_tail()}")

    def _command(self) -> list[str]:
        folder = self.home.path
        return [
            *self._binary.serve_command(folder / "data"),
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            f"--socket={folder / 'socket'}",
            f"--pid-file={folder / 'pid'}",
            f"--tmpdir={folder}",
            f"--init-file={folder / 'init.sql'}",
            *self._options,
        ]


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has."""
    while True:
        port = random.choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
