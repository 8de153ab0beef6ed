"""After any sequence of deaths, take-backs and checkpoints the summary says what the jobs say, for every consumer."""

import os
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from tests.properties.dead_rules import DeadRules
from tests.support.brokers import ADMIN, Broker
from tests.support.deaths import second_instance
from tests.support.truth import assert_exact, audit

EXAMPLES = int(os.environ.get("BROKER_TEST_EXAMPLES", "0"))
SETTINGS = settings(
    max_examples=EXAMPLES or 15,
    derandomize=not EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


class Truth(DeadRules):
    """What must be true after every step, and at the end."""

    @invariant()
    def the_summary_is_exact(self) -> None:
        assert_exact(self.brokers[0].parts)

    def teardown(self) -> None:
        """History balances; then the example's channels go, with all that is in them."""
        found = audit(self.brokers[0].parts)
        assert found.good, found
        for name in (self.channel, f"{self.channel}-graves"):
            self.brokers[0].client.delete(f"/channel/{name}?force=true", headers=ADMIN)


@pytest.fixture
def pair(broker: Broker) -> Iterator[tuple[Broker, Broker]]:
    """Two instances on each database."""
    for second in second_instance(broker):
        yield broker, second


@pytest.mark.timeout(900)
def test_the_summary_is_exact_after_any_sequence_of_acts(pair: tuple[Broker, Broker]) -> None:
    """More, and other, examples than the usual ones: BROKER_TEST_EXAMPLES=500."""
    run_state_machine_as_test(cast(type[Truth], lambda: Truth(pair)), settings=SETTINGS)
