"""An engine with nothing to do does next to nothing, and is there at once when something comes."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from broker.delivery.engine import Engine
from broker.delivery.outlets import Share
from broker.delivery.pace import POLL_SECONDS
from tests.support.brokers import Broker, make_broker
from tests.support.pushing import Pushing

WATCHED_SECONDS = 1.5
PROCESSES = 2


class Watched:
    """One of two processes of an instance; counts what it asks the database."""

    def __init__(self, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine = Engine(broker.parts, "watched", Share(0, PROCESSES))
        self.asked: list[str] = []
        for way in ("look", "read", "write"):
            monkeypatch.setattr(broker.parts.database, way, self._counting(getattr(broker.parts.database, way)))

    def _counting(self, original: Any) -> Any:
        def ask(name: str, *arguments: Any, **options: Any) -> Any:
            self.asked.append(name)
            return original(name, *arguments, **options)

        return ask

    def run(self) -> int:
        """Let it work for a while; gives how many steps it made."""
        ends, steps = time.monotonic() + WATCHED_SECONDS, 0
        while time.monotonic() < ends:
            self.engine.step()
            steps += 1
        return steps


@pytest.fixture
def watched(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    made = Watched(broker, monkeypatch)
    yield made
    made.engine.drain()


def test_an_idle_process_only_looks_when_it_is_its_turn(watched: Watched) -> None:
    watched.engine.step()
    watched.engine.step()
    watched.asked.clear()
    watched.run()
    assert set(watched.asked) <= {"scan lanes", "look for ends", "mend plan"}
    assert 1 <= watched.asked.count("scan lanes") <= WATCHED_SECONDS / (PROCESSES * POLL_SECONDS) + 2
    assert watched.asked.count("look for ends") <= WATCHED_SECONDS / PROCESSES + 1


def test_an_engine_whose_database_is_away_waits_for_it_without_spinning() -> None:
    broker = make_broker("mysql+pymysql://nobody@127.0.0.1:1/none", upgrade=False)
    with pytest.MonkeyPatch.context() as patch:
        watched = Watched(broker, patch)
        assert watched.run() < 20


def test_an_idle_engine_knows_of_a_change_before_it_delivers(pushing: Pushing) -> None:
    pushing.consumer()
    pushing.hand.deliver()
    pushing.broker.clock.advance(timedelta(seconds=2))
    pushing.consumer(callbackUrl=pushing.target.url("/moved"))
    pushing.publish()
    pushing.until(lambda: len(pushing.target.received) == 1)
    assert pushing.came("/moved") == 1


def test_an_idle_engine_delivers_to_a_consumer_that_is_new(pushing: Pushing) -> None:
    pushing.hand.deliver()
    pushing.broker.clock.advance(timedelta(seconds=2))
    pushing.consumer()
    pushing.publish()
    assert pushing.until(lambda: pushing.came() == 1) < 1
