"""The world of each profile: the settings file that lies beside its tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.profiles.world import World, read_options
from tests.support.target import Target

Start = Callable[..., World]


@pytest.fixture
def settings_file(request: pytest.FixtureRequest) -> Path:
    """The profile's settings."""
    return request.path.parent / "broker.toml"


@pytest.fixture
def start(database_url: str, settings_file: Path, target: Target) -> Iterator[Start]:
    """Starts the profile's broker, for a test that changes a setting of it."""
    started: list[World] = []

    def begin(**options: object) -> World:
        started.append(World(database_url, {**read_options(settings_file), **options}, target))
        return started[-1]

    yield begin
    for world in started:
        world.close()


@pytest.fixture
def world(start: Start) -> World:
    """The profile's broker, with an engine turned by hand."""
    return start()
