"""Processes of the bench's own: each ends with the block that started it, whatever ends that."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess


@contextmanager
def child(work: Callable[..., None], *given: object) -> Iterator[BaseProcess]:
    """Runs beside the block; it should be done when the block is."""
    process = get_context("fork").Process(target=_run, args=(work, given), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.terminate()
        process.join()


def _run(work: Callable[..., None], given: tuple[object, ...]) -> None:
    """Ctrl-C reaches all processes at a terminal; the one that the user started ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    work(*given)
