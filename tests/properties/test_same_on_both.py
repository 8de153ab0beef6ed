"""Any sequence of registry and publishing calls gives the same answers and leaves the same state on both databases."""

import os
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from broker.operations import registry_cache
from tests.properties import stored
from tests.properties.publishing_rules import PublishingRules
from tests.properties.registry_rules import BELOW, LISTS
from tests.properties.sides import Call, path_of
from tests.support.brokers import Broker, make_broker

EXAMPLES = int(os.environ.get("BROKER_TEST_EXAMPLES", "0"))
SETTINGS = settings(
    max_examples=EXAMPLES or 40,
    derandomize=not EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


class TwoBrokers(PublishingRules):
    """What must be true after every call, and at the end."""

    @invariant()
    def every_message_has_a_job_for_every_consumer(self) -> None:
        assert self.pair.same(stored.job_counts) == self.model.job_counts()

    @invariant()
    def every_consumer_has_one_summary(self) -> None:
        assert self.pair.same(stored.summaries) == self.model.summaries()

    def teardown(self) -> None:
        """The whole observable state, then what only the databases show."""
        for path in map(path_of, LISTS):
            self._walk(path)
        for channel in self.model.consumers:
            for below in BELOW:
                self._walk(path_of("channel", channel, below))
            self.pair.send(Call("GET", path_of("channel", channel, "messages-status")))
        self.pair.same(stored.jobs)
        self.pair.same(stored.row_counts)

    def _walk(self, path: str) -> None:
        for address in self.pair.follow(path, {"limit": "100"})[0]["result"]:
            self.pair.send(Call("GET", address))


@pytest.fixture
def two_brokers(sqlite_url: str, server_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Broker, Broker]]:
    """One on each database; what they cache ages with the test's clock, not with real time."""
    monkeypatch.setattr(registry_cache, "FRESH_SECONDS", float("inf"))
    made = make_broker(sqlite_url), make_broker(server_url)
    yield made
    for broker in made:
        broker.parts.database.dispose()


@pytest.mark.timeout(900)  # a minute, unless it fails: then the search for a shorter example takes five
def test_any_sequence_of_calls_is_the_same_on_both_databases(two_brokers: tuple[Broker, Broker]) -> None:
    """More, and other, examples than the usual ones: BROKER_TEST_EXAMPLES=500."""
    machine = cast(type[TwoBrokers], lambda: TwoBrokers(*two_brokers))
    run_state_machine_as_test(machine, settings=SETTINGS)
