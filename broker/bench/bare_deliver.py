"""The bare limit of delivering: the same claims, POSTs and completions, with nothing around them.

Processes of one thread with the bare driver and libcurl: no rules, no registry, no retries, no address checks, no
measures against failure of any kind. Whatever the broker adds to this is its own.
"""

import base64
import hmac
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pycurl  # type: ignore[import-untyped]

from broker.bench.bare_processes import Together, run_together
from broker.bench.bare_sql import Claimed, Tables
from broker.bench.client import BenchFailed
from broker.bench.deliver_fill import Keys
from broker.bench.scratch import Scratch

ENOUGH, LONGEST_HELD = 150, 0.01
MOST_LEASES = 4
EMPTY_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Engine:
    """What each process does its work with."""

    place: Scratch
    keys: Keys
    url: str
    connections: int
    processes: int


def deliver_bare(engine: Engine) -> Together:
    """Deliver whatever is due."""
    return run_together(_worker, [(engine,)] * engine.processes)


def _worker(engine: Engine) -> Callable[[], float]:
    worker = Worker(engine)

    def work() -> float:
        worker.run()
        return worker.last_written

    return work


class Worker:
    """Claims, sends and completes in turn."""

    def __init__(self, engine: Engine) -> None:
        self.lanes, self.connections = engine.keys.consumers, engine.connections
        self.tables = Tables(engine.place)
        self.multi = pycurl.CurlMulti()
        self.free = [_handle(engine.url) for _ in range(engine.connections)]
        self.waiting: list[Claimed] = []
        self.results: dict[str, list[str]] = {}
        self.left: dict[str, int] = {}
        self.flying = self.unwritten = self.empty_rounds = self.lane = 0
        self.last_written, self.key = time.perf_counter(), os.urandom(24)

    def run(self) -> None:
        """Until every lane was empty a few times over."""
        while self.empty_rounds < EMPTY_ROUNDS or self.left:
            if self.empty_rounds < EMPTY_ROUNDS and len(self.waiting) < self.connections:
                self._claim()
            self._send()
            self._gather()
            held = time.perf_counter() - self.last_written
            if self.unwritten >= ENOUGH or (self.unwritten and held > LONGEST_HELD):
                self._complete()

    def _claim(self) -> None:
        if len(self.left) >= max(MOST_LEASES, self.connections // 100):
            return
        for _ in self.lanes:
            self.lane = (self.lane + 1) % len(self.lanes)
            if claimed := self.tables.claim(self.lanes[self.lane]):
                self.left[claimed[0].token] = len(claimed)
                self.waiting += claimed
                self.empty_rounds = 0
                return
        self.empty_rounds += 1

    def _send(self) -> None:
        while self.free and self.waiting:
            job, handle = self.waiting.pop(), self.free.pop()
            handle.setopt(pycurl.HTTPHEADER, self._headers(job))
            handle.setopt(pycurl.POSTFIELDS, job.payload)
            handle.job = job
            self.multi.add_handle(handle)
            self.flying += 1

    def _headers(self, job: Claimed) -> list[str]:
        """As many as the broker sends, with a signature."""
        now = int(time.time())
        digest = hmac.digest(self.key, f"{job.id}.{now}.".encode() + job.payload, "sha256")
        return [
            "Expect:",
            "User-Agent: bare",
            "X-Broker-Channel-ID: bench",
            "X-Broker-Consumer-ID: bench",
            f"Content-Type: {job.content_type}",
            f"X-Broker-Message-ID: {job.message_id}",
            f"X-Request-ID: {job.id}",
            f"X-Broker-Job-ID: {job.id}",
            f"X-Broker-Attempt: {job.attempts + 1}",
            f"X-Broker-Message-Priority: {job.priority}",
            "X-Broker-Hop-Count: 1",
            f"webhook-id: {job.id}",
            f"webhook-timestamp: {now}",
            f"webhook-signature: v1,{base64.b64encode(digest).decode()}",
        ]

    def _gather(self) -> None:
        self.multi.perform()
        _, good, bad = self.multi.info_read()
        if bad:
            raise BenchFailed(f"the target failed the bare processes: {bad[0][2]}")
        for handle in good:
            self._take(handle)
        self.flying -= len(good)
        self.unwritten += len(good)
        if not good and self.flying:
            self.multi.select(0.005)

    def _take(self, handle: Any) -> None:
        if handle.getinfo(pycurl.RESPONSE_CODE) != 200:
            raise BenchFailed(f"the target answered {handle.getinfo(pycurl.RESPONSE_CODE)}")
        self.multi.remove_handle(handle)
        self.free.append(handle)
        self.results.setdefault(handle.job.token, []).append(handle.job.id)

    def _complete(self) -> None:
        for token, jobs in self.results.items():
            self.left[token] -= len(jobs)
            self.tables.complete(token, jobs, ended=not self.left[token])
            if not self.left[token]:
                del self.left[token]
        self.tables.commit()
        self.results.clear()
        self.unwritten, self.last_written = 0, time.perf_counter()


def _handle(url: str) -> Any:
    handle = pycurl.Curl()
    for option, value in ((pycurl.URL, url), (pycurl.POST, 1), (pycurl.NOSIGNAL, 1), (pycurl.PROXY, "")):
        handle.setopt(option, value)
    handle.setopt(pycurl.WRITEFUNCTION, lambda body: None)
    return handle
