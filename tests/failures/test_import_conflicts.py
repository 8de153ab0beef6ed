"""Errors of the database while jobs are imported: at every statement and at the commit all arrive, and once."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

import pytest

from broker.operations.producers import importer
from tests.failures.injection import DEADLOCK, LOCK_TIMEOUT, Injection, at_commit, at_statement, killed_after
from tests.support.brokers import ADMIN, Broker, make_broker
from tests.support.calls import get, parsed
from tests.support.dead import CONSUMER
from tests.support.truth import assert_exact
from tests.support.walk import register

DEAD = {"state": "dead", "deadReason": "REJECTED"}
JOBS = 4


@pytest.fixture
def broker(server_url: str) -> Iterator[Broker]:
    """On the server, where errors are injected."""
    made = make_broker(server_url)
    register(made.client)
    importer(made.parts)
    yield made
    made.parts.database.dispose()


def bring(broker: Broker, name: str, known: bool = True) -> Any:
    """Two queued ones and two dead; gives the answer."""
    sources = [{"sourceJobId": f"{name}-{number}"} if known else {} for number in range(JOBS)]
    jobs = [{**source, **(DEAD if number % 2 else {})} for number, source in enumerate(sources)]
    return broker.client.post(f"{CONSUMER}/import", json={"jobs": jobs}, headers=ADMIN)


def ids(answer: Any) -> list[str]:
    """The jobs that were made; all were."""
    assert answer.status_code == 200, answer.text
    told = parsed(answer)
    assert told["created"] == JOBS, told
    return [one["jobId"] for one in told["results"]]


def there(broker: Broker) -> list[str]:
    """All jobs of the consumer."""
    return [one["id"] for one in get(broker.client, f"{CONSUMER}/jobs?limit=100")["result"]]


def at_each_place(make: Any) -> Iterator[tuple[int, AbstractContextManager[Injection]]]:
    """An error at the first statement, at the second, and so on."""
    return ((place, make(place)) for place in count())


@pytest.mark.parametrize("error", [DEADLOCK, LOCK_TIMEOUT])
def test_a_conflict_at_any_statement_brings_all_in_once(broker: Broker, error: int) -> None:
    expected: list[str] = []
    for place, failing in at_each_place(lambda place: at_statement(place, error)):
        with failing as injection:
            expected += ids(bring(broker, f"c{place}"))
        if not injection.done:
            break
    assert place > 8
    assert sorted(there(broker)) == sorted(expected)
    assert assert_exact(broker.parts) == len(expected) // 2


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_a_commit_that_is_cut_off_brings_all_in_once_and_says_so(broker: Broker, before: bool, known: bool) -> None:
    expected: list[str] = []
    for place, failing in at_each_place(lambda place: at_commit(place, before)):
        with failing as injection:
            expected += ids(bring(broker, f"l{place}", known))
        if not injection.done:
            break
    assert place > 0
    assert sorted(there(broker)) == sorted(expected)
    assert assert_exact(broker.parts) == len(expected) // 2


def test_whoever_dies_at_any_statement_leaves_all_or_nothing_and_a_repeated_request_mends_it(broker: Broker) -> None:
    for place in count():
        with killed_after(broker.parts, place) as injection:
            bring(broker, f"k{place}")
        broker.parts.database.engine.dispose()
        left = len(there(broker)) - place * JOBS
        assert left in (0, JOBS)
        told = parsed(bring(broker, f"k{place}"))
        assert (told["created"], told["ignored"]) == (JOBS - left, left)
        if not injection.done:
            break
    assert place > 8
    assert assert_exact(broker.parts) == len(there(broker)) // 2
