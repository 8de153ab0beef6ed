"""Many clients at once: the same id once, every answer in time, and consumers that come and go meanwhile."""

import threading

import httpx
import pytest

from tests.failures.exactness import assert_exact, stored
from tests.support.brokers import ADMIN, StartBroker, wait_until
from tests.support.load import Answer, Caller, Load, endless, put, set_up

CLIENTS = 50
MESSAGES = [f"message-{number}" for number in range(10_000)]
IN_TIME = 2.0
pytestmark = pytest.mark.alone


def test_of_fifty_publishers_of_one_id_one_is_told_201_and_all_others_409(
    database_url: str, start_broker: StartBroker
) -> None:
    live = start_broker(database_url, BROKER_HTTP_WORKERS="2")
    set_up(live.url, consumers=7)
    for message_id in ("once", "twice", "thrice"):
        answers = _publish_at_once(live.url, message_id)
        assert sorted(answer.status for answer in answers) == [201] + [409] * (CLIENTS - 1)
        assert {answer.headers["location"] for answer in answers} == {f"/channel/channel/message/{message_id}"}
    assert assert_exact(database_url, ["once", "twice", "thrice"], consumers=7).rows == 3


def _publish_at_once(url: str, message_id: str) -> list[Answer]:
    """All clients are connected before the first of them sends."""
    together, answers = threading.Barrier(CLIENTS), list[Answer]()

    def client() -> None:
        with Caller(url) as caller:
            together.wait()
            answers.append(caller.publish(message_id))

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_fifty_clients_get_every_answer_in_time(server_url: str, start_broker: StartBroker) -> None:
    live = start_broker(server_url, BROKER_HTTP_WORKERS="2")
    set_up(live.url, consumers=7)
    with Load(live.url, MESSAGES, clients=CLIENTS) as load:
        load.finish()
    assert load.statuses == {201}
    assert load.slowest < IN_TIME
    found = assert_exact(server_url, MESSAGES, consumers=7)
    assert (found.rows, sum(len(jobs) for jobs in found.jobs.values())) == (10_000, 70_000)


def test_consumers_that_come_and_go_get_exactly_what_was_published_while_they_were_there(
    database_url: str, start_broker: StartBroker
) -> None:
    live = start_broker(database_url, BROKER_HTTP_WORKERS="2")
    set_up(live.url, consumers=1)
    asked: dict[str, set[str]] = {}
    with Load(live.url, endless("m"), clients=8) as load, httpx.Client(base_url=live.url, headers=ADMIN) as client:
        for name in ("first", "second", "third"):
            put(client, f"/channel/channel/consumer/{name}", type="pull")
            asked[name] = load.sent
            enough = len(load.published) + 30
            wait_until(lambda: len(load.published) >= enough, 30)  # noqa: B023 - polled at once
            if name != "third":
                _delete(client, f"/channel/channel/consumer/{name}?force=true")
    assert load.statuses == {201}
    _assert_jobs(database_url, load, asked["third"])


def _delete(client: httpx.Client, path: str) -> None:
    answer = client.delete(path, timeout=30)
    assert answer.status_code == 204, answer.text


def _assert_jobs(database_url: str, load: Load, before_the_last: set[str]) -> None:
    """Who was there from the start has all, who is there since has at least all that came after it, nobody else any."""
    jobs = stored(database_url).jobs
    first, last = min(min(found) for found in jobs.values()), max(max(found) for found in jobs.values())
    assert jobs.keys() == set(load.published)
    assert {consumer for found in jobs.values() for consumer in found} == {first, last}
    assert all(found in ([first], [first, last], [last, first]) for found in jobs.values())
    after = jobs.keys() - before_the_last
    assert after
    assert all(last in jobs[key] for key in after)
