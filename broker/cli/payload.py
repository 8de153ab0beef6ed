"""Where payloads come from, and the bar that shows how much of it is sent."""

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import click

from broker.cli.output import note

MOST_READ = 16_000_001  # one more than any broker accepts, so that it is the broker who refuses


def source(data: str | None, file: BinaryIO | None) -> BinaryIO:
    """What was given: text, a file, or standard input."""
    if data is not None and file is not None:
        raise click.UsageError("Give --data or --file, not both.")
    if data is not None:
        return io.BytesIO(os.fsencode(data))
    if file is not None:
        return file
    if sys.stdin.isatty():
        note("Reading from the terminal; end with Ctrl-D.")
    return sys.stdin.buffer


def read_payload(stream: BinaryIO) -> bytes:
    """All of it, as far as it can be accepted."""
    return stream.read(MOST_READ)


@contextmanager
def progress(stream: BinaryIO, label: str) -> Iterator[Callable[[int], None]]:
    """Tells people at a terminal how many bytes are done; how many there are is known for files only."""
    size, hidden, unknown = _size(stream), not sys.stderr.isatty(), (step for step in range(0))
    with click.progressbar(unknown, size, label, hidden, show_pos=size is None, file=sys.stderr) as bar:
        yield bar.update


def _size(stream: BinaryIO) -> int | None:
    try:
        found = os.fstat(stream.fileno())
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
