"""Where something that changes is shown: in place on a terminal, one below the other everywhere else."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Protocol

import click

HOME, END_OF_LINE, END_OF_SCREEN = "\033[H", "\033[K", "\033[J"
HIDE_CURSOR, SHOW_CURSOR = "\033[?25l", "\033[?25h"


class Screen(Protocol):
    """Takes one state after the other."""

    def show(self, lines: Iterable[str]) -> None:
        """The newest."""


class Terminal:
    """Each state is written over the one before in one go; nothing is wiped first, so nothing flickers."""

    def __init__(self) -> None:
        click.clear()

    def show(self, lines: Iterable[str]) -> None:
        columns, rows = _size()
        shown = fitting([line[: columns - 1] for line in lines], rows - 1)
        text = "".join(f"{line}{END_OF_LINE}\n" for line in shown)
        sys.stdout.write(f"{HIDE_CURSOR}{HOME}{text}{END_OF_SCREEN}{SHOW_CURSOR}")
        sys.stdout.flush()


def _size() -> os.terminal_size:
    """As it is now: the variables COLUMNS and LINES do not follow a window that is made smaller."""
    found = os.get_terminal_size(sys.stdout.fileno())
    return found if all(found) else shutil.get_terminal_size()


class Paper:
    """Each state is appended, with an empty line behind it."""

    def show(self, lines: Iterable[str]) -> None:
        click.echo("\n".join([*lines, ""]))
        sys.stdout.flush()


def screen_of() -> Screen:
    """What standard output is."""
    in_place = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return Terminal() if in_place else Paper()


def fitting(lines: Sequence[str], rows: int) -> Sequence[str]:
    """What does not fit is left out above the last line, and counted."""
    if len(lines) <= rows:
        return lines
    head = max(0, rows - 2)
    return [*lines[:head], f"... {len(lines) - head - 1} more lines", lines[-1]][-max(1, rows) :]


def arrows() -> tuple[str, str]:
    """For more and for less; what every output can show when it cannot show arrows."""
    try:
        "↑↓".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "+", "-"
    return "↑", "↓"
