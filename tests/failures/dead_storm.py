"""Everybody at once: jobs die, are taken back in every way, and consumers come and go; each in a thread, through the
API of this process. What the database refuses while it is away is let go."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from werkzeug.test import TestResponse

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import parsed, put
from tests.support.pull import Puller
from tests.support.target import Target
from tests.support.walk import PUBLISHER, register

DLQ = "/channel/channel/consumer/{}/dlq"
BATCH, PAUSE = 15, 0.25
RULES = {"maxRetries": 0, "breakerThreshold": 0}
STAYING, MOVING, PULLED = "staying", "moving", "consumer"


class Storm:
    """Threads that work unless they are held; `told` counts what they did."""

    def __init__(self, broker: Broker, target: Target) -> None:
        self.broker, self.told, self.chance = broker, Counter[str](), random.Random(5)
        self._over, self._blowing = threading.Event(), threading.Event()
        self._idle = [threading.Event() for _ in range(5)]
        register(broker.client)
        put(broker.client, "/channel/graves")
        put(broker.client, f"/channel/channel/consumer/{PULLED}", maxRetries=0)
        for name, more in ((STAYING, {"deadChannel": "graves"}), (MOVING, {"deadLetterMode": "move"})):
            put(broker.client, f"/channel/channel/consumer/{name}", callbackUrl=target.url(), **RULES, **more)

    @contextmanager
    def blowing(self) -> Iterator[None]:
        """All threads, until the end of the block."""
        duties = (self._publish, self._pull, self._take_back, self._take_all, self._come_and_go)
        threads = [threading.Thread(target=self._work, args=pair) for pair in zip(duties, self._idle, strict=True)]
        for thread in threads:
            thread.start()
        self.rise()
        try:
            yield
        finally:
            self._over.set()
            self._blowing.set()
            for thread in threads:
                thread.join()

    def rise(self) -> None:
        """Go on."""
        self._blowing.set()

    def calm(self) -> None:
        """Hold all threads; comes back when none is at anything."""
        for one in self._idle:
            one.clear()
        self._blowing.clear()
        for one in self._idle:
            assert one.wait(60)

    def _work(self, duty: Callable[[], None], idle: threading.Event) -> None:
        while not self._over.is_set():
            if not self._blowing.is_set():
                idle.set()
                self._blowing.wait()
                continue
            duty()
            time.sleep(PAUSE)

    def _publish(self) -> None:
        items = [{"payload": "x"}] * BATCH
        answer = self.broker.client.post(
            "/channel/channel/broadcast-batch", json={"messages": items}, headers=PUBLISHER
        )
        self.told["published"] += BATCH if answer.status_code == 200 else 0

    def _pull(self) -> None:
        """Most are rejected; some of the dead are taken up again, and half of these are rejected again."""
        client = Puller(self.broker)
        leased = client.post("lease", {"limit": 2 * BATCH})
        if leased.status_code == 200 and parsed(leased)["jobs"]:
            got = parsed(leased)
            jobs = [{"id": one["id"], "dead": True} for one in got["jobs"]]
            self._tell("rejected", client.post("retry", {"leaseToken": got["leaseToken"], "jobs": jobs}), len(jobs))
        for job_id in self._dead(PULLED)[:3]:
            self._tell("taken up", client.post(f"job/{job_id}", {"NextState": "INFLIGHT"}))
            if self.chance.random() < 0.5:
                client.post(f"job/{job_id}", {"NextState": "DEAD"})

    def _take_back(self) -> None:
        for name in (STAYING, PULLED):
            path, ids = f"/channel/channel/consumer/{name}/job", self._dead(name)
            for job_id in self.chance.sample(ids, min(2, len(ids))):
                answer = self.broker.client.post(f"{path}/{job_id}/requeue-dead-job", headers=ADMIN)
                self._tell("requeued", answer)
            for job_id in self.chance.sample(ids, min(2, len(ids))):
                self._tell("deleted", self.broker.client.delete(f"{path}/{job_id}", headers=ADMIN))

    def _take_all(self) -> None:
        time.sleep(2 * PAUSE)
        name, client = self.chance.choice((STAYING, PULLED)), self.broker.client
        act = self.chance.choice(("archive", "move", "delete") if name == STAYING else ("archive", "delete"))
        path = DLQ.format(name)
        answer = client.delete(path, headers=ADMIN) if act == "delete" else client.post(f"{path}/{act}", headers=ADMIN)
        if answer.status_code in (200, 202):
            self.told[f"{act} all"] += next(parsed(answer)[key] for key in parsed(answer) if key.endswith("dCount"))

    def _come_and_go(self) -> None:
        path = f"/channel/channel/consumer/guest-{self.chance.randrange(3)}"
        if self.chance.random() < 0.6:
            self._tell("made", self.broker.client.put(path, json={"type": "pull", "maxRetries": 0}, headers=ADMIN))
        else:
            self._tell("buried", self.broker.client.delete(f"{path}?force=true", headers=ADMIN))

    def _dead(self, name: str) -> list[str]:
        answer = self.broker.client.get(DLQ.format(name) + "?limit=50", headers=ADMIN)
        return [one["id"] for one in parsed(answer)["deadJobs"]] if answer.status_code == 200 else []

    def _tell(self, what: str, answer: TestResponse, count: int = 1) -> None:
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        self.told[what] += count if answer.status_code < 300 else 0
