"""A command on a real terminal (a pty), and what its screen shows."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from select import select

from tests.support.brokers import wait_until
from tests.support.cli import Commands

SECONDS = 30
_SEQUENCE = re.compile(r"\033\[([?\d;]*)([A-Za-z])")
_KNOWN = {"H", "J", "K", "h", "l"}


class Screen:
    """Takes what a command writes; knows the few sequences that ours use, and refuses others."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns, self.row, self.column = rows, columns, 0, 0
        self.cells = [[" "] * columns for _ in range(rows)]
        self.wiped, self.scrolled = 0, 0

    @property
    def text(self) -> str:
        """What a user sees."""
        return "\n".join("".join(row).rstrip() for row in self.cells).rstrip()

    def write(self, text: str) -> None:
        while text:
            if found := _SEQUENCE.match(text):
                self._obey(*found.groups())
                text = text[found.end() :]
            else:
                self._put(text[0])
                text = text[1:]

    def _put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self._down()
        else:
            assert self.column < self.columns, "a line is longer than the screen is wide"
            self.cells[self.row][self.column] = character
            self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == self.rows:
            self.cells = [*self.cells[1:], [" "] * self.columns]
            self.row, self.scrolled = self.row - 1, self.scrolled + 1

    def _obey(self, given: str, what: str) -> None:
        assert what in _KNOWN, f"the screen does not know {given}{what}"
        if what == "H":
            self.row, self.column = 0, 0
        elif what == "K":
            self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
        elif what == "J":
            self._wipe(whole=given == "2")

    def _wipe(self, whole: bool) -> None:
        self.wiped += whole
        for row in range(0 if whole else self.row, self.rows):
            start = self.column if row == self.row and not whole else 0
            self.cells[row][start:] = [" "] * (self.columns - start)


class OnTerminal:
    """The command, while it runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", terminal: int, screen: Screen) -> None:
        self.process, self.screen = process, screen
        self._terminal, self._rest = terminal, b""

    def shows(self, *wanted: str) -> None:
        """Read on until all of it is on the screen at once, whatever the width of its columns."""
        wait_until(lambda: _are_in(wanted, " ".join(self._seen().split())), SECONDS, self._seen)

    def ends(self) -> int:
        """Its exit code, once all that it wrote is on the screen."""
        wait_until(lambda: self._seen() != "" and self.process.poll() is not None, SECONDS, self._seen)
        self._seen()
        return self.process.returncode

    def _seen(self) -> str:
        while select([self._terminal], [], [], 0)[0]:
            self._rest += os.read(self._terminal, 65536)
        whole, end, self._rest = self._rest.rpartition(b"\n")
        self.screen.write((whole + end).decode())
        return self.screen.text


def _are_in(wanted: tuple[str, ...], text: str) -> bool:
    return all(one in text for one in wanted)


@contextmanager
def on_terminal(commands: Commands, *arguments: str, rows: int = 24, columns: int = 100) -> Iterator[OnTerminal]:
    """Run a command on a terminal of this size; it is ended with the block."""
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    here = replace(commands, environment={**commands.environment, "TERM": "xterm"})
    process = here.process(*arguments, stdin=side, stdout=side, stderr=side)
    try:
        yield OnTerminal(process, terminal, Screen(rows, columns))
    finally:
        process.kill()
        process.wait(SECONDS)
        os.close(terminal)
        os.close(side)
