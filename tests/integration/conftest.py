"""What tests share: every way to a broker for the command line, set up once, and push consumers."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.support.brokers import Broker
from tests.support.cli import Commands, every_way
from tests.support.engines import Hand
from tests.support.pushing import Pushing
from tests.support.target import Target

DIFFERENT_WAYS = ("sqlite", "server by url")
EVERY_WAY = ("sqlite", "sqlite by url", "server", "server by url")
_numbers = count(1)


@pytest.fixture(scope="session")
def ways(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Commands]]:
    """Each database directly, and a running broker on another of its kind."""
    yield from every_way(request, tmp_path_factory.mktemp("cli"))


@pytest.fixture(params=DIFFERENT_WAYS)
def commands(ways: dict[str, Commands], request: pytest.FixtureRequest) -> Commands:
    """The command line on the two ways that have least in common; one test shows that all four are alike."""
    return ways[request.param]


@pytest.fixture(params=EVERY_WAY)
def each_commands(ways: dict[str, Commands], request: pytest.FixtureRequest) -> Commands:
    """The command line on each of them in turn."""
    return ways[request.param]


@pytest.fixture
def name() -> str:
    """An id that no other test uses."""
    return f"name-{next(_numbers)}"


@pytest.fixture
def pushing(broker: Broker, hand: Hand, target: Target) -> Pushing:
    """Push consumers on each database in turn."""
    return Pushing(broker, hand, target)
