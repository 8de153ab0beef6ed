"""A target for deliveries, in a process of its own: reads whole requests, gives one constant answer, notes who came.

It does as little as can be done, so that it is never what is measured.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from broker.bench.children import child
from broker.bench.client import BenchFailed
from broker.bench.sink_loop import TAKE, Loop, Report, listen

JOB_ID, MESSAGE_ID = b"\r\nX-Broker-Job-ID: ", b"\r\nX-Broker-Message-ID: "


class Sink:
    """The bench's hold on the sink's process."""

    def __init__(self, pipe: Any, counter: Any, pid: int | None) -> None:
        self._pipe, self._counter, self.pid = pipe, counter, pid

    @property
    def received(self) -> int:
        """How many requests since the last report; costs the sink nothing."""
        return int(self._counter.value)

    def take(self) -> Report:
        """What arrived since the last report; the next one starts from nothing."""
        self._pipe.send(TAKE)
        try:
            report: Report = self._pipe.recv()
        except EOFError:
            raise BenchFailed("the target's process ended") from None
        return report


@contextmanager
def serving(port: int, delay_ms: float = 0, status: int = 200, header: bytes = JOB_ID) -> Iterator[Sink]:
    """A sink that listens on the port; every request is known by the id in this header."""
    listener = listen(port)
    context = get_context("fork")
    here, there = context.Pipe()
    counter = context.RawValue("Q", 0)
    with child(_process, listener, there, counter, delay_ms, status, header) as process:
        listener.close()
        there.close()
        yield Sink(here, counter, process.pid)


def _process(listener: Any, pipe: Any, counter: Any, delay_ms: float, status: int, header: bytes) -> None:
    Loop(listener, pipe, counter, delay_ms / 1000, status, header).run()
