"""The bare limit: the same rows, put in by the driver alone, with nothing around it."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from typing import Any

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
    context = get_context("fork")
    ready, go = context.Barrier(processes + 1), context.Barrier(processes + 1)
    shares = [connections // processes + (index < connections % processes) for index in range(processes)]
    started = [context.Process(target=_process, args=(scratch, rows, share, each, ready, go)) for share in shares]
    for process in started:
        process.start()
    ready.wait(60)
    begun = time.perf_counter()
    go.wait(60)
    for process in started:
        process.join()
    return time.perf_counter() - begun


def _process(scratch: Scratch, rows: Callable[[], Rows], connections: int, each: int, ready: Any, go: Any) -> None:
    opened = [scratch.connect() for _ in range(connections)] if not scratch.is_sqlite else []
    shared = rows()
    ready.wait(60)
    go.wait(60)
    if scratch.is_sqlite:
        insert(scratch.connect(), shared, connections * each, 1)
        return
    threads = [threading.Thread(target=insert, args=(connection, shared, each, 1)) for connection in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
