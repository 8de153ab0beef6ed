"""What a broker does is what its served description says: generated calls, right and wrong, on both databases.

More, and other, calls than the usual ones: BROKER_TEST_EXAMPLES=200.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.campaign import Campaign
from tests.contract.world import CREDENTIALS, World
from tests.support.brokers import LiveBroker, StartBroker

WATCHED = ("_status", "metrics", "dlq-status", "job-status", "dlq-stats", "dlq-history")
OPEN = {f"GET /{name}" for name in ("livez", "readyz", "openapi.yaml", *WATCHED)}
LONGEST_SECONDS = 1200
EXAMPLES = int(os.environ.get("BROKER_TEST_EXAMPLES", "0"))
GENERATION = {"deterministic": not EXAMPLES, "database": "none"}
ACCEPTED = {"expected-statuses": ["2xx"]}
REFUSED = {"expected-statuses": ["400", "401", "403", "404", "409", "411", "412", "413", "415"]}
AUTHENTICATED: dict[str, Any] = {
    "headers": CREDENTIALS,
    "continue-on-failure": True,
    "generation": {"max-examples": EXAMPLES or 8, **GENERATION},
    "checks": {"positive_data_acceptance": ACCEPTED, "negative_data_rejection": REFUSED},
    "phases": {"stateful": {"generation": {"max-examples": 10}}},
}
UNAUTHENTICATED: dict[str, Any] = {
    "continue-on-failure": True,
    "generation": {"max-examples": 3, "with-security-parameters": False, **GENERATION},
    "checks": {"positive_data_acceptance": {"enabled": False}, "negative_data_rejection": {"enabled": False}},
    "phases": {"coverage": {"enabled": False}, "stateful": {"enabled": False}},
}


@pytest.fixture
def live(database_url: str, start_broker: StartBroker) -> LiveBroker:
    """A served broker on each database in turn."""
    return start_broker(database_url)


@pytest.fixture
def world(live: LiveBroker) -> Iterator[World]:
    """Things whose ids and tokens the calls know."""
    made = World(live.url)
    yield made
    made.close()


@pytest.mark.timeout(LONGEST_SECONDS)
def test_every_answer_is_as_described(live: LiveBroker, world: World) -> None:
    campaign = Campaign(live.url, world, AUTHENTICATED)
    report = campaign.run()
    assert report.findings == {}, report.text()
    assert report.succeeded() == campaign.operations(), report.answers


@pytest.mark.timeout(LONGEST_SECONDS)
def test_nothing_opens_without_credentials(live: LiveBroker, world: World) -> None:
    campaign = Campaign(live.url, world, UNAUTHENTICATED)
    report = campaign.run()
    assert report.findings == {}, report.text()
    assert report.succeeded() == OPEN, report.answers
    assert {label for label, status in report.answers if status == 401} == campaign.operations() - OPEN
