"""`broker operation`: what works on many dead jobs is listed, followed, left and stopped."""

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from broker.domain.dead_selection import DeadAct, DeadFilter
from broker.domain.ids import XidFactory
from broker.operations import bulk
from broker.operations.access import Credentials, open_consumer
from broker.operations.locking import NamedLock
from tests.support.brokers import ADMIN_TOKEN, wait_until
from tests.support.cli import Commands, run
from tests.support.dead_commands import dead, make_dead, opened

pytestmark = pytest.mark.xdist_group("cli")
UNKNOWN = "00000000000000000000"


class KnownIds(XidFactory):
    """Makes an id that is known beforehand."""

    def __init__(self) -> None:
        super().__init__()
        self.known = super().new()

    def new(self) -> str:
        return self.known


@contextmanager
def held(commands: Commands, name: str) -> Iterator[str]:
    """A requeue of all that has begun but does not come on: another holds its lock. Gives its id."""
    with opened(commands) as broker:
        ids = KnownIds()
        lock = NamedLock(broker.parts, f"operation-{ids.known}", seconds=60)
        assert lock.acquire()
        consumer = open_consumer(broker.parts, Credentials(bearer=ADMIN_TOKEN), name, "c")
        bulk.start(replace(broker.parts, ids=ids), consumer, DeadAct.REQUEUE, DeadFilter(), "test")
        yield ids.known
        lock.release()


@contextmanager
def at_a_terminal(commands: Commands, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command whose standard error is a terminal, and the other end of that."""
    terminal, side = pty.openpty()
    process = commands.process(*arguments, stderr=side)
    try:
        yield process, terminal
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)
        os.close(side)


def test_operations_are_listed_newest_first(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 2)
    first = each_commands.json("dlq", "requeue", name, "c", "--all")
    second = each_commands.json("dlq", "archive", name, "c", "--reason", "EXPIRED")
    assert each_commands.json("operation", "list", "--limit", "2") == [second, first]
    result = each_commands.run("operation", "list", "--limit", "1")
    head, line = result.stdout.splitlines()
    assert head.split()[:6] == ["id", "act", "state", "done", "skipped", "of"]
    assert line.split()[:6] == [second["id"], "archive", "done", "0", "0", "-"]
    assert result.stderr == "There are more than these 1: see --limit.\n"


def test_an_operation_is_shown_by_the_start_of_its_id(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 2)
    made = each_commands.json("dlq", "archive", name, "c", "--all")
    assert each_commands.json("operation", "show", made["id"]) == made
    assert each_commands.json("operation", "show", made["id"][:19])["id"] == made["id"]
    assert "\nstate         done\n" in each_commands.done("operation", "show", made["id"])


def test_an_operation_that_runs_is_cancelled_once(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 3)
    with held(each_commands, name) as operation_id:
        assert each_commands.json("operation", "show", operation_id)["state"] == "running"
        assert each_commands.done("operation", "cancel", operation_id) == "Cancelled: 0 requeued, 0 skipped.\n"
        assert each_commands.json("operation", "cancel", operation_id)["state"] == "cancelled"
    assert dead(each_commands, name) == 3
    done = each_commands.json("dlq", "requeue", name, "c", "--all")["id"]
    said = each_commands.refused("operation", "cancel", done)
    assert said == f"Error: Operation {done} is done already: 3 requeued, 0 skipped.\n"


def test_an_operation_is_followed_until_it_is_done(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 3, counted=2)
    with held(each_commands, name) as operation_id:
        process = each_commands.process("operation", "show", operation_id, "--follow")
    assert process.communicate(timeout=60) == (b"3 requeued, 0 skipped.\n", b"")
    assert process.returncode == 0
    assert dead(each_commands, name) == 0


def test_who_follows_is_told_of_a_cancellation(commands: Commands, name: str) -> None:
    make_dead(commands, name, 3)
    with (
        held(commands, name) as operation_id,
        at_a_terminal(commands, "operation", "show", operation_id, "--follow") as (process, terminal),
    ):
        assert b"Requeue" in os.read(terminal, 1000)
        commands.done("operation", "cancel", operation_id)
        assert process.communicate(timeout=30)[0] == b"Cancelled: 0 requeued, 0 skipped.\n"
        assert process.returncode == 1


def test_ctrl_c_leaves_the_operation_to_a_running_broker(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 3)
    with (
        held(each_commands, name) as operation_id,
        at_a_terminal(each_commands, "operation", "show", operation_id, "--follow") as (process, terminal),
    ):
        said = os.read(terminal, 1000)
        assert b"Requeue" in said
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == b""
        assert process.returncode == 130
        said += os.read(terminal, 10_000)
        assert f"Operation {operation_id} is not done (0 requeued so far): a running broker goes on".encode() in said
        assert f"Stop it with: broker operation cancel {operation_id}".encode() in said
        assert b"Traceback" not in said
        assert each_commands.json("operation", "show", operation_id)["state"] == "running"
    if each_commands.url is None:
        each_commands.done("operation", "show", operation_id, "--follow")
    wait_until(lambda: each_commands.json("operation", "show", operation_id)["state"] == "done", 60)
    assert dead(each_commands, name) == 0


def test_what_is_no_operation_is_told(commands: Commands) -> None:
    for command in ("show", "cancel"):
        said = commands.refused("operation", command, UNKNOWN)
        assert said == f"Error: There is no operation '{UNKNOWN}'. [not-found]\n"
        for bad in ("short", "a/b/../../c", "%%%%%%%%", UNKNOWN + "0"):
            assert "operationId: must be an operation's id" in commands.refused("operation", command, bad)
        assert commands.run("operation", command).exit_code == 2


def test_a_start_that_fits_several_names_them(commands: Commands, name: str) -> None:
    make_dead(commands, name, 1)
    with opened(commands) as broker:
        consumer = open_consumer(broker.parts, Credentials(bearer=ADMIN_TOKEN), name, "c")
        both = [bulk.start(broker.parts, consumer, DeadAct.ARCHIVE, DeadFilter(), "test").id for _ in range(2)]
    start = both[0][:14]
    said = commands.refused("operation", "show", start)
    assert said.startswith(f"Error: operationId: '{start}' is the start of several ids: ")
    assert all(one in said for one in both)


@pytest.mark.parametrize("name", ["list", "show", "cancel"])
def test_help_has_an_example(name: str) -> None:
    assert f"broker operation {name}" in run("operation", name, "--help").output.partition("\n")[2]
