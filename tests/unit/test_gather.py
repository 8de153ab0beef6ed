"""Gathering: callers that come together share a batch, each gets its own answer, and nobody waits for ever."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.runtime.gather import Gather
from tests.support.brokers import wait_until

SECONDS = 10


def tenfold(items: Sequence[int]) -> Sequence[int]:
    return [item * 10 for item in items]


class Gate:
    """A handler whose batches wait until they are let through; it notes what it was given."""

    def __init__(self, answer: Callable[[Sequence[int]], Sequence[int]] = tenfold) -> None:
        self.answer = answer
        self.batches: list[list[int]] = []
        self.running = self.most_running = 0
        self._mutex = threading.Lock()
        self._entered, self._open = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, items: Sequence[int]) -> Sequence[int]:
        with self._mutex:
            self.batches.append(list(items))
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        self._entered.release()
        assert self._open.acquire(timeout=SECONDS)
        with self._mutex:
            self.running -= 1
        return self.answer(items)

    def wait_for_batch(self) -> None:
        """Until one more batch is being handled."""
        assert self._entered.acquire(timeout=SECONDS)

    def let_through(self, batches: int = 1) -> None:
        self._open.release(batches)


@contextmanager
def callers(gather: Gather[int, int]) -> Iterator[Callable[..., Future[int]]]:
    """Submits from threads of their own; gives a function that returns once the caller is in the queue or at work."""
    with ThreadPoolExecutor(64) as pool:

        def call(item: int, size: int = 0, waits: bool = True) -> Future[int]:
            before = len(gather._waiting)
            future = pool.submit(gather.submit, item, size)
            if waits:
                wait_until(lambda: len(gather._waiting) > before, SECONDS)
            return future

        yield call


def lead(gate: Gate, call: Callable[..., Future[int]], item: int = 0, size: int = 0) -> Future[int]:
    """A caller that is at work in the gate."""
    future = call(item, size, waits=False)
    gate.wait_for_batch()
    return future


def test_a_lone_caller_is_served_at_once_by_its_own_thread() -> None:
    seen: list[int] = []

    def handle(items: Sequence[int]) -> Sequence[int]:
        seen.append(threading.get_ident())
        return [item + 1 for item in items]

    gather: Gather[int, int] = Gather(handle)
    assert [gather.submit(item) for item in range(3)] == [1, 2, 3]
    assert seen == [threading.get_ident()] * 3


def test_those_who_come_while_a_batch_runs_share_the_next_one_in_their_order() -> None:
    gate = Gate()
    with callers(Gather(gate, at_once=1)) as call:
        first = lead(gate, call)
        others = [call(item) for item in range(1, 6)]
        gate.let_through(2)
        assert [future.result(SECONDS) for future in (first, *others)] == [0, 10, 20, 30, 40, 50]
    assert gate.batches == [[0], [1, 2, 3, 4, 5]]


def test_no_batch_has_more_items_than_allowed() -> None:
    gate = Gate()
    with callers(Gather(gate, at_once=1, most=3)) as call:
        futures = [lead(gate, call), *(call(item) for item in range(1, 8))]
        gate.let_through(4)
        assert [future.result(SECONDS) for future in futures] == [item * 10 for item in range(8)]
    assert gate.batches == [[0], [1, 2, 3], [4, 5, 6], [7]]


def test_no_batch_is_larger_than_allowed_but_one_item_always_goes() -> None:
    gate = Gate()
    with callers(Gather(gate, at_once=1, most_size=100)) as call:
        futures = [lead(gate, call, size=5000)]
        futures += [call(item, size) for item, size in ((1, 60), (2, 40), (3, 1), (4, 999), (5, 0), (6, 100))]
        gate.let_through(6)
        assert [future.result(SECONDS) for future in futures] == [item * 10 for item in range(7)]
    assert gate.batches == [[0], [1, 2], [3], [4], [5, 6]]


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_at_most_so_many_batches_run_together(at_once: int) -> None:
    gate = Gate()
    with callers(Gather(gate, at_once=at_once, most=2)) as call:
        futures = [lead(gate, call, item) for item in range(at_once)]
        futures += [call(item) for item in range(at_once, 20)]
        assert gate.most_running == at_once
        gate.let_through(20)
        assert [future.result(SECONDS) for future in futures] == [item * 10 for item in range(20)]
    assert gate.most_running == at_once
    assert sorted(item for batch in gate.batches for item in batch) == list(range(20))


def test_an_error_reaches_every_caller_of_its_batch_and_no_other() -> None:
    def answer(items: Sequence[int]) -> Sequence[int]:
        if 2 in items:
            raise LookupError("no")
        return items

    gate = Gate(answer)
    with callers(Gather(gate, at_once=1, most=3)) as call:
        futures = [lead(gate, call), *(call(item) for item in range(1, 6))]
        gate.let_through(3)
        for item, future in enumerate(futures):
            if item in (1, 2, 3):
                assert isinstance(future.exception(SECONDS), LookupError)
            else:
                assert future.result(SECONDS) == item


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_even_the_worst_error_leaves_nobody_waiting(error: type[BaseException]) -> None:
    def answer(items: Sequence[int]) -> Sequence[int]:
        if 1 in items:
            raise error
        return items

    gate = Gate(answer)
    gather = Gather(gate, at_once=1, most=2)
    with callers(gather) as call:
        futures = [lead(gate, call), *(call(item) for item in range(1, 5))]
        gate.let_through(3)
        assert [type(futures[item].exception(SECONDS)) for item in (1, 2)] == [error, error]
        assert [futures[item].result(SECONDS) for item in (0, 3, 4)] == [0, 3, 4]
        gate.let_through()
        assert gather.submit(9) == 9


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_handler_that_answers_too_few_or_too_many_is_an_error_for_all(count: int) -> None:
    gather: Gather[int, int] = Gather(lambda items: [0] * (0 if count == 0 else len(items) + count))
    with pytest.raises(ValueError, match="zip"):
        gather.submit(1)


def test_after_an_error_the_next_callers_are_served() -> None:
    gather: Gather[int, int] = Gather(lambda items: [100 // item for item in items])
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            gather.submit(0)
        assert gather.submit(5) == 20


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(1, 7), st.integers(1, 30), st.lists(st.integers(0, 20), min_size=1, max_size=60))
def test_any_crowd_gets_its_own_answers_within_the_limits(
    at_once: int, most: int, most_size: int, sizes: list[int]
) -> None:
    running, seen = [0], []
    mutex = threading.Lock()

    def handle(items: Sequence[int]) -> Sequence[int]:
        with mutex:
            running[0] += 1
            assert running[0] <= at_once
            seen.append(list(items))
        with mutex:
            running[0] -= 1
        return [-item for item in items]

    gather: Gather[int, int] = Gather(handle, at_once, most, most_size)
    start = threading.Barrier(16)
    positions = iter(range(len(sizes)))

    def work(_: int) -> list[tuple[int, int]]:
        start.wait(SECONDS)
        answers = []
        while (position := next_position()) is not None:
            answers.append((position, gather.submit(position, sizes[position])))
        return answers

    def next_position() -> int | None:
        with mutex:
            return next(positions, None)

    with ThreadPoolExecutor(16) as pool:
        answers = [pair for pairs in pool.map(work, range(16)) for pair in pairs]
    assert sorted(answers) == [(position, -position) for position in range(len(sizes))]
    assert all(len(batch) <= most for batch in seen)
    assert all(len(batch) == 1 or sum(sizes[item] for item in batch) <= most_size for batch in seen)
    assert (gather._leaders, len(gather._waiting)) == (0, 0)
