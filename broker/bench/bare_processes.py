"""Runs a bare limit in several processes that begin together."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from threading import BrokenBarrierError
from typing import Any, NamedTuple

import pymysql

from broker.bench.children import child
from broker.bench.client import BenchFailed
from broker.bench.scratch import NoPlace

READY_SECONDS = 60
Prepare = Callable[..., Callable[[], float]]


class Together(NamedTuple):
    """From the start to the end of the last, and the CPU seconds of all."""

    seconds: float
    cpu: float


def run_together(prepare: Prepare, shares: Sequence[tuple[object, ...]]) -> Together:
    """A process for each share: it prepares, all begin at one moment, and each tells when it was done."""
    context = get_context("fork")
    ready, go = context.Barrier(len(shares) + 1), context.Barrier(len(shares) + 1)
    with ExitStack() as stack:
        pipes = []
        for share in shares:
            here, there = context.Pipe(duplex=False)
            stack.enter_context(child(_process, there, ready, go, prepare, share))
            there.close()
            pipes.append(here)
        begun = _begin(pipes, ready, go)
        ends = [_received(here) for here in pipes]
    return Together(max(end for end, _ in ends) - begun, sum(cpu for _, cpu in ends))


def _begin(pipes: Sequence[Any], ready: Any, go: Any) -> float:
    try:
        ready.wait(READY_SECONDS)
        begun = time.perf_counter()
        go.wait(READY_SECONDS)
    except BrokenBarrierError:
        for here in pipes:
            if here.poll():
                _received(here)
        raise BenchFailed("the bare processes did not get ready") from None
    return begun


def _received(pipe: Any) -> tuple[float, float]:
    try:
        outcome: tuple[float, float] | str = pipe.recv()
    except EOFError:
        raise BenchFailed("a bare process ended without a word") from None
    if isinstance(outcome, str):
        raise BenchFailed(outcome)
    return outcome


def _process(pipe: Any, ready: Any, go: Any, prepare: Prepare, share: tuple[object, ...]) -> None:
    try:
        work = prepare(*share)
        ready.wait(READY_SECONDS)
        go.wait(READY_SECONDS)
        before = time.process_time()
        pipe.send((work(), time.process_time() - before))
    except (BenchFailed, NoPlace, pymysql.MySQLError) as error:
        pipe.send(str(error.args[-1]))
        ready.abort()
    except BrokenBarrierError:
        pipe.close()
