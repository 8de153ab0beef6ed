"""The bare limit: the same rows, put in by the driver alone, with nothing around it."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from broker.bench.bare_processes import run_together
from broker.bench.scratch import Scratch
from broker.domain.ids import XidFactory

MESSAGE_COLUMNS = (
    "id, channelId, producerId, messageId, payload, contentType, priority, receivedAt, deliverAt, hopCount"
)
JOB_COLUMNS = (
    "id, messageId, consumerId, priority, status, statusChangedAt, createdAt, earliestNextAttemptAt,"
    " retryAttemptCount, replayCount"
)


class Rows:
    """Makes the rows of some messages as the two statements that insert them."""

    def __init__(self, is_sqlite: bool, channel: int, producer: int, consumers: Sequence[int], payload: bytes) -> None:
        self.now = "strftime('%Y-%m-%d %H:%M:%f000', 'now')" if is_sqlite else "NOW(6)"
        self.channel, self.producer, self.consumers, self.payload = channel, producer, consumers, payload.hex()
        self.ids = XidFactory()

    def statements(self, count: int) -> tuple[str, str]:
        """One INSERT for the messages and one for their jobs."""
        messages = self.ids.block(count)
        now, payload = self.now, self.payload
        message_values = ",".join(
            f"('{m}',{self.channel},{self.producer},'{m}',x'{payload}','application/json',0,{now},{now},0)"
            for m in messages
        )
        jobs = iter(self.ids.block(count * len(self.consumers)))
        job_values = ",".join(
            f"('{next(jobs)}','{m}',{c},0,1001,{now},{now},{now},0,0)" for m in messages for c in self.consumers
        )
        return (
            f"INSERT INTO message ({MESSAGE_COLUMNS}) VALUES {message_values}",
            f"INSERT INTO job ({JOB_COLUMNS}) VALUES {job_values}",
        )


def insert(connection: Any, rows: Rows, transactions: int, size: int) -> None:
    """So many transactions of so many messages each."""
    cursor = connection.cursor()
    for _ in range(transactions):
        for statement in rows.statements(size):
            cursor.execute(statement)
        connection.commit()
    cursor.close()


def insert_concurrently(scratch: Scratch, rows: Callable[[], Rows], connections: int, each: int) -> float:
    """One-message transactions on many connections, over as many processes as there are cores; gives the seconds."""
    processes = 1 if scratch.is_sqlite else min(connections, len(os.sched_getaffinity(0)))
    shares = [connections // processes + (index < connections % processes) for index in range(processes)]
    return run_together(_worker, [(scratch, rows, share, each) for share in shares]).seconds


def _worker(scratch: Scratch, rows: Callable[[], Rows], connections: int, each: int) -> Callable[[], float]:
    """With its connections open; what is given back does the work and tells when it was done."""
    shared = rows()
    if scratch.is_sqlite:
        return lambda: _timed(lambda: insert(scratch.connect(), shared, connections * each, 1))
    opened = [scratch.connect() for _ in range(connections)]
    return lambda: _timed(lambda: _insert_by_all(opened, shared, each))


def _insert_by_all(opened: Sequence[Any], rows: Rows, each: int) -> None:
    with ThreadPoolExecutor(len(opened)) as pool:
        for done in [pool.submit(insert, connection, rows, each, 1) for connection in opened]:
            done.result()


def _timed(work: Callable[[], None]) -> float:
    work()
    return time.perf_counter()
