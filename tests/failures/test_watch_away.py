"""`broker dlq status --watch` while the database is away: old values, marked, and never 0."""

import re
from pathlib import Path

import pytest

from tests.support.brokers import LiveBroker, make_broker
from tests.support.cli import Commands
from tests.support.dead_commands import make_dead
from tests.support.killable import KillableServer
from tests.support.terminal import on_terminal

pytestmark = pytest.mark.alone


@pytest.mark.parametrize("by_url", [False, True], ids=["database", "by url"])
def test_old_values_are_kept_until_the_database_is_back(
    by_url: bool, durable_server: KillableServer, durable_url: str, tmp_path: Path
) -> None:
    make_broker(durable_url).parts.database.dispose()
    live = LiveBroker(durable_url, tmp_path / "broker.log") if by_url else None
    try:
        make_dead(Commands(durable_url), "channel", 3)
        commands = Commands(durable_url, live.url if live else None)
        with on_terminal(commands, "dlq", "status", "--watch", "--interval", "200ms") as terminal:
            terminal.shows("channel c 3 = ")
            durable_server.kill()
            terminal.shows("AWAY: ", "Old values, of 20", "channel c 3 old ", "total 3 old ")
            assert not re.search(r"\bc +0\b", terminal.screen.text)
            durable_server.start()
            terminal.shows("channel c 3 = ")
            assert "AWAY" not in terminal.screen.text
    finally:
        if live is not None:
            live.kill()
