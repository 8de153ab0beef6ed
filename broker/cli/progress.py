"""A bar on standard error for people who wait at a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

Reached = Callable[[int, int | None], None]


@contextmanager
def progress(label: str) -> Iterator[Reached]:
    """Tells how far it is, and of how many where that is known, when it hears of it."""
    hidden, unknown = not sys.stderr.isatty(), (step for step in range(0))
    with click.progressbar(unknown, None, label, hidden, show_pos=True, file=sys.stderr) as bar:

        def reached(position: int, total: int | None) -> None:
            bar.length = total
            bar.update(position - bar.pos)

        yield reached
