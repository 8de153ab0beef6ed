"""Clients that wait for jobs, and clients side by side."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.brokers import Broker, make_broker
from tests.support.jobs import listed, make_jobs
from tests.support.pull import Puller, puller
from tests.support.walk import register


def test_who_waits_gets_a_job_as_soon_as_it_is_published(broker: Broker) -> None:
    client = puller(broker)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(lambda: (client.lease(wait=20), time.monotonic()))
        time.sleep(0.3)
        assert not waiting.done()
        published = time.monotonic()
        ids = make_jobs(broker.client, 1)
        (_, got), arrived = waiting.result(10)
    assert got == ids and arrived - published < 5


def test_who_waits_in_vain_is_answered_when_the_time_is_over(broker: Broker) -> None:
    began = time.monotonic()
    assert puller(broker).ask("lease", wait="500ms")["jobs"] == []
    assert 0.5 <= time.monotonic() - began < 5


def test_who_waits_gets_nothing_while_paused(broker: Broker) -> None:
    client = puller(broker)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(lambda: client.lease(wait=1))
        time.sleep(0.2)
        client.configure(paused=True)
        make_jobs(broker.client, 1)
        assert waiting.result(10)[1] == []
    assert listed(broker, "inflight") == []


def test_at_most_half_of_the_threads_wait(database_url: str) -> None:
    broker = make_broker(database_url, http_threads=2)
    client = puller(broker)
    with ThreadPoolExecutor() as pool:
        longest = pool.submit(lambda: client.lease(wait=3))
        time.sleep(0.3)
        began = time.monotonic()
        assert client.lease(wait=20)[1] == []
        assert time.monotonic() - began < 2 and not longest.done()
        longest.result(10)
    broker.parts.database.dispose()


@pytest.mark.parametrize("clients", [2, 8])
def test_clients_side_by_side_never_get_the_same_job(server_url: str, clients: int) -> None:
    broker = make_broker(server_url)
    register(broker.client)
    ids = make_jobs(broker.client, 500)
    start, got = threading.Barrier(clients), Counter[str]()

    def work(number: int) -> list[str]:
        mine, client = [], Puller(broker)
        start.wait()
        while found := client.lease(7, clientId=f"client-{number}")[1]:
            mine += found
        return mine

    with ThreadPoolExecutor(clients) as pool:
        for mine in pool.map(work, range(clients)):
            got.update(mine)
    assert got == Counter(ids)
    broker.parts.database.dispose()
