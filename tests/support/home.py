"""The temporary folder a private server lives in, with the process that runs there."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support import guard
from tests.support.accounts import reachable_parent, unprivileged_account

END_SECONDS = 60.0


class Home:
    """A folder and at most one process in it, which a guard ends when the tests end, however they end."""

    def __init__(self, parent: Path | None = None) -> None:
        self.account = unprivileged_account()
        self.path = Path(tempfile.mkdtemp(prefix="broker-db-", dir=parent or reachable_parent()))
        self.log = self.path / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        if self.account:
            os.chown(self.path, self.account.pw_uid, self.account.pw_gid)
        self._guard = _start_guard(self.path)

    @property
    def pid(self) -> int:
        """The number of the process that runs here."""
        if self._process is None:
            raise RuntimeError("no process runs here")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def launch(self, command: Sequence[str]) -> None:
        """Start a program here, as the unprivileged account, out of reach of the terminal's Ctrl-C."""
        if self.running:
            raise RuntimeError(f"process {self.pid} runs here already")
        with self.log.open("ab") as output:
            self._process = self._popen(command, output.fileno())
        guard.pid_file(self.path).write_text(str(self._process.pid))

    def run(self, command: Sequence[str], seconds: float) -> int:
        """Start a program here, wait for its end and return its code."""
        self.launch(command)
        assert self._process is not None
        code = self._process.wait(seconds)
        self.end(signal.SIGKILL)
        return code

    def end(self, number: signal.Signals) -> None:
        """Send the process a signal that ends it, and wait for that; its files stay."""
        if self._process:
            self._process.send_signal(number)
            self._process.wait(END_SECONDS)
            self._process = None
            guard.pid_file(self.path).unlink()

    def close(self) -> None:
        """End the process, and let the guard remove the folder."""
        self.end(signal.SIGKILL)
        self._guard.communicate()
        guard.remove(self.path)

    def _popen(self, command: Sequence[str], output: int) -> "subprocess.Popen[bytes]":
        account = self.account
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=self.path,
            env={**os.environ, "TMPDIR": str(self.path)},
            start_new_session=True,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )


def _start_guard(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-S", "-E", guard.__file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
