"""Runs the bare limit of delivering in as many processes as the broker has."""

import time
from multiprocessing import get_context
from typing import Any

from broker.bench.bare_deliver import Engine, Worker
from broker.bench.client import BenchFailed


def deliver(engine: Engine) -> tuple[float, float]:
    """Deliver whatever is due; gives the seconds it took and the processes' CPU seconds."""
    context = get_context("fork")
    ready, go = context.Barrier(engine.processes + 1), context.Barrier(engine.processes + 1)
    pipes = [context.Pipe(duplex=False) for _ in range(engine.processes)]
    started = [context.Process(target=_process, args=(engine, there, ready, go), daemon=True) for _, there in pipes]
    for process in started:
        process.start()
    ready.wait(60)
    begun = time.perf_counter()
    go.wait(60)
    for _, there in pipes:
        there.close()
    ends = [_received(here) for here, _ in pipes]
    for process in started:
        process.join()
    return max(end for end, _ in ends) - begun, sum(cpu for _, cpu in ends)


def _received(pipe: Any) -> tuple[float, float]:
    try:
        outcome: tuple[float, float] | str = pipe.recv()
    except EOFError:
        raise BenchFailed("a bare process ended without a word") from None
    if isinstance(outcome, str):
        raise BenchFailed(outcome)
    return outcome


def _process(engine: Engine, pipe: Any, ready: Any, go: Any) -> None:
    worker = Worker(engine)
    ready.wait(60)
    go.wait(60)
    before = time.process_time()
    try:
        worker.run()
        pipe.send((worker.last_written, time.process_time() - before))
    except BenchFailed as error:
        pipe.send(str(error))
