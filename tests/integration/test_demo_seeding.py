"""The demo is seeded once, however often and wherever it was cut short, and never in place of something else."""

import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.demo.plan import HOST, MARK, MOST, PRODUCER
from broker.demo.playing import play
from broker.demo.seeding import find_channel, find_producer, seed
from broker.domain.messages import Publication
from broker.domain.preconditions import Preconditions
from broker.operations.channels import delete_channel
from broker.operations.messages import count_messages
from broker.operations.parts import Parts
from broker.operations.publishing import Published, Publisher
from broker.runtime.ports import free_port
from tests.support.brokers import make_broker, wait_until
from tests.support.cli import Commands
from tests.support.demo import CONSUMERS, make_parts, refused_demo, registered, row_counts

DEMO = [("producer demo", MARK), ("channel demo", MARK), *((f"consumer {name}", name) for name in CONSUMERS)]
STEPS = len(DEMO)
SEED_AND_DIE = """
import os, signal, sys
from broker.demo.seeding import seed
from tests.support.demo import make_parts

parts, left = make_parts(sys.argv[1]), int(sys.argv[2])
write = parts.database.write

def counted(*given, **named):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return write(*given, **named)

parts.database.write = counted
seed(parts, 9)
"""


def seed_and_die(database_url: str, after: int) -> int:
    """In a process that is killed after so many writes; gives its exit code."""
    command = [sys.executable, "-c", SEED_AND_DIE, database_url, str(after)]
    return subprocess.run(command, cwd=Path(__file__).parents[2], timeout=60, check=False).returncode


@pytest.fixture
def parts(sqlite_url: str) -> Iterator[Parts]:
    """On an empty database."""
    made = make_broker(sqlite_url).parts
    yield made
    made.database.dispose()


@pytest.mark.parametrize("done", range(STEPS))
def test_seeding_that_was_killed_is_finished_by_the_next_start(parts: Parts, sqlite_url: str, done: int) -> None:
    assert seed_and_die(sqlite_url, done) == -signal.SIGKILL
    assert registered(sqlite_url) == DEMO[:done]
    seed(parts, 9)
    assert registered(sqlite_url) == DEMO
    assert row_counts(sqlite_url)["dlq_summary"] == len(CONSUMERS)


def test_whole_seeding_takes_no_more_steps_than_are_killed_here(parts: Parts, sqlite_url: str) -> None:
    assert seed_and_die(sqlite_url, STEPS) == 0
    assert registered(sqlite_url) == DEMO


def test_seeding_again_changes_nothing_but_where_the_target_listens(parts: Parts, sqlite_url: str) -> None:
    commands = Commands(sqlite_url)
    seed(parts, 9)
    commands.done("consumer", "update", "demo", "flaky", "--set", "maxRetries=7", "--pause")
    commands.done("consumer", "delete", "demo", "pull", "--yes")
    before = commands.json("channel", "show", "demo"), commands.json("producer", "show", "demo")
    seed(parts, 10)
    assert (commands.json("channel", "show", "demo"), commands.json("producer", "show", "demo")) == before
    flaky = commands.json("consumer", "show", "demo", "flaky")
    assert (flaky["settings"]["maxRetries"], flaky["paused"]) == (7, True)
    assert flaky["callbackUrl"] == f"http://{HOST}:10/flaky"
    assert sorted(commands.done("consumer", "list", "demo").split()) == sorted(CONSUMERS)


@pytest.mark.parametrize("kind", ["channel", "producer"])
def test_what_the_demo_did_not_make_is_left_alone(parts: Parts, sqlite_url: str, kind: str) -> None:
    commands = Commands(sqlite_url)
    commands.done(kind, "create", "demo")
    before = commands.json(kind, "show", "demo"), row_counts(sqlite_url)
    told = f"Error: There is a {kind} 'demo' that the demo did not make. Delete it, or do without the demo.\n"
    assert refused_demo(sqlite_url) == told
    assert "There is no demo here" in commands.refused("demo", "remove", "--yes")
    assert (commands.json(kind, "show", "demo"), row_counts(sqlite_url)) == before


def test_only_the_demo_s_part_goes_when_half_of_its_name_is_another_s(parts: Parts, sqlite_url: str) -> None:
    commands = Commands(sqlite_url)
    seed(parts, 9)
    commands.done("channel", "delete", "demo", "--force", "--yes")
    commands.done("channel", "create", "demo", "--name", "Mine")
    assert commands.done("demo", "remove", "--yes") == "Removed producer 'demo'.\n"
    assert commands.done("channel", "list") == "demo\n"


def test_a_server_is_refused_unless_that_is_said(server_url: str) -> None:
    Commands(server_url).done("db", "upgrade")
    told = refused_demo(server_url)
    assert told.endswith("which others may use. If it shall: --demo-on-server.\n")
    assert registered(server_url) == []


class Playing:
    """The demo's process as a thread."""

    def __init__(self, database_url: str) -> None:
        self._stop, self._parts = threading.Event(), make_parts(database_url)
        self.thread = threading.Thread(target=play, args=(self._parts, free_port(HOST), self._stop.is_set))

    def __enter__(self) -> "Playing":
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self.thread.join(20)
        self._parts.database.dispose()


def fill(parts: Parts, many: int) -> None:
    """So many messages in the demo's channel."""
    channel, producer = find_channel(parts), find_producer(parts)
    assert channel is not None and producer is not None
    for start in range(0, many, 1000):
        batch = [Publication(b"{}")] * min(1000, many - start)
        outcomes = Publisher(parts).publish_many(channel, producer, batch)
        assert all(isinstance(one, Published) for one in outcomes)


def held(parts: Parts) -> int:
    """How many messages the demo's channel has."""
    channel = find_channel(parts)
    assert channel is not None
    return count_messages(parts, channel).dispatched


def test_the_producer_rests_when_the_channel_has_enough(
    parts: Parts, sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    seed(parts, 9)
    fill(parts, MOST - 3)
    with Playing(sqlite_url):
        wait_until(lambda: "publishes no more" in caplog.text, 20)
        assert held(parts) == MOST


def test_the_producer_rests_when_the_demo_was_removed_and_leaves_alone_what_has_its_name_then(
    parts: Parts, sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    seed(parts, 9)
    with Playing(sqlite_url) as playing:
        wait_until(lambda: held(parts) > 0, 20)
        delete_channel(parts, "demo", Preconditions(), force=True)
        Commands(sqlite_url).done("channel", "create", "demo", "--name", "Mine")
        wait_until(lambda: "publishes no more" in caplog.text, 20)
        assert playing.thread.is_alive()
    assert row_counts(sqlite_url)["message"] == 0
    assert Commands(sqlite_url).done("producer", "list") == f"{PRODUCER}\n"
