"""`broker dlq` on all of a consumer's dead, or on those that filters select; and the audit of their count."""

import json
import os
import pty
import re

import pytest

from tests.support.cli import Commands
from tests.support.dead_commands import dead, falsify, make_dead, opened, standing

pytestmark = pytest.mark.xdist_group("cli")


def states_of(commands: Commands, name: str) -> list[str]:
    """The states of the consumer's jobs."""
    return sorted(one["state"] for one in commands.json("job", "list", name, "c", "--limit", "5000"))


def test_all_are_requeued(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 5, counted=3)
    assert each_commands.done("dlq", "requeue", name, "c", "--all") == "5 requeued, 0 skipped.\n"
    assert dead(each_commands, name) == 0
    assert states_of(each_commands, name) == ["queued"] * 5
    assert each_commands.done("dlq", "requeue", name, "c", "--all") == "0 requeued, 0 skipped.\n"


def test_json_is_the_operation(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 2)
    told = each_commands.json("dlq", "requeue", name, "c", "--all")
    shown = {
        key: told[key] for key in ("act", "state", "channelId", "consumerId", "filter", "total", "done", "skipped")
    }
    place = {"channelId": name, "consumerId": "c"}
    assert shown == {"act": "requeue", "state": "done", **place, "filter": {}, "total": 2, "done": 2, "skipped": 0}
    assert each_commands.json("operation", "show", told["id"]) == told


def test_only_what_a_filter_selects_is_requeued(each_commands: Commands, name: str) -> None:
    ids = make_dead(each_commands, name, 4, counted=2)
    for job_id in ids[1:3]:
        each_commands.done("dlq", "requeue", name, "c", job_id)
        each_commands.done("job", "fail", job_id)
    assert each_commands.json("dlq", "requeue", name, "c", "--reason", "FORCED")["done"] == 2
    assert dead(each_commands, name) == 2
    assert {one["id"] for one in each_commands.json("dlq", "list", name, "c")} == {ids[0], ids[3]}


def test_all_are_deleted_but_those_killed_by_hand(each_commands: Commands, name: str) -> None:
    ids = make_dead(each_commands, name, 4, counted=2)
    each_commands.done("dlq", "requeue", name, "c", ids[0])
    each_commands.done("job", "fail", ids[0])
    assert each_commands.done("dlq", "delete", name, "c", "--all", "--yes") == "3 deleted, 1 skipped.\n"
    assert dead(each_commands, name) == 1
    assert each_commands.done("dlq", "delete", name, "c", "--all", "--yes", "--force") == "1 deleted, 0 skipped.\n"
    assert dead(each_commands, name) == 0
    assert each_commands.job_count(name) == 0


def test_deleting_asks_and_says_how_many(commands: Commands, name: str) -> None:
    make_dead(commands, name, 3, counted=1)
    for given in (("--all",), ("--category", "TRANSIENT")):
        for answer in ("n\n", ""):
            said = commands.refused("dlq", "delete", name, "c", *given, input=answer)
            assert f"Delete 3 jobs of {name}/c for good, history and all?" in said
            assert "Nothing was deleted. Give --yes to delete without being asked." in said
    assert dead(commands, name) == 3
    assert commands.done("dlq", "delete", name, "c", "--text", "no room", input="y\n") == "3 deleted, 0 skipped.\n"
    assert dead(commands, name) == 0


def test_a_large_selection_is_not_counted_to_its_end(ways: dict[str, Commands], name: str) -> None:
    commands = ways["sqlite"]
    make_dead(commands, name, 1002)
    said = commands.refused("dlq", "delete", name, "c", "--category", "TRANSIENT", input="n\n")
    assert f"Delete more than 1000 jobs of {name}/c for good" in said


def test_all_are_archived(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 3, counted=2)
    assert each_commands.done("dlq", "archive", name, "c", "--error-type", "HTTP_503") == "3 archived, 0 skipped.\n"
    assert dead(each_commands, name) == 0
    assert states_of(each_commands, name) == ["archived"] * 3


def test_all_are_moved_to_the_dead_channel(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 3, counted=2)
    said = each_commands.refused("dlq", "move", name, "c", "--all")
    assert "deadChannel: the consumer has none of its own to move to" in said
    each_commands.set_up(f"{name}-dead")
    each_commands.done("consumer", "update", name, "c", "--dead-channel", f"{name}-dead")
    assert each_commands.done("dlq", "move", name, "c", "--all") == "3 moved, 0 skipped.\n"
    assert dead(each_commands, name) == 0
    assert each_commands.job_count(f"{name}-dead") == 3


def test_a_consumer_that_is_not_there_is_told(commands: Commands, name: str) -> None:
    commands.set_up(name)
    for act in (("requeue",), ("delete", "--yes"), ("delete",), ("archive",), ("move",)):
        said = commands.refused("dlq", act[0], name, "nobody", "--all", *act[1:])
        assert said == f"Error: Channel '{name}' has no consumer 'nobody'. [not-found]\n"


def test_an_audit_of_a_true_count_is_quiet(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 3, counted=3)
    found = each_commands.json("dlq", "audit")
    assert (found["findings"], found["broken"], found["good"]) == ([], [], True)
    counts = f"{found['consumers']} consumers, {found['dead']} counted dead"
    assert each_commands.done("dlq", "audit") == f"{counts}, all exact.\n"


def test_an_audit_finds_a_drift_and_repairs_it(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 3, counted=3)
    falsify(each_commands, name, by=2)
    result = each_commands.run("dlq", "audit")
    off, total = result.stdout.splitlines()
    assert off == f"{name}/c: the summary says 5 dead, 3 are: off by 2"
    assert (result.exit_code, total.split(" dead, ")[1]) == (1, "1 off.")
    warned = each_commands.run("dlq", "status", "--channel", name)
    assert warned.stderr == f"An audit found the count of {name}/c off by 2. See: broker dlq audit --repair\n"
    (finding,) = json.loads(each_commands.run("dlq", "audit", "--repair", "--json").stdout)["findings"]
    counts = {"stored": 5, "real": 3, "drift": 2, "repaired": True}
    assert finding == {"channelId": name, "consumerId": "c", **counts}
    assert dead(each_commands, name) == 3
    assert each_commands.done("dlq", "audit").endswith(", all exact.\n")
    assert standing(each_commands, name)["drift"] == 0


def test_a_repair_is_told(commands: Commands, name: str) -> None:
    make_dead(commands, name, 3, counted=3)
    falsify(commands, name, by=-1)
    repaired, total = commands.done("dlq", "audit", "--repair").splitlines()
    assert repaired == f"{name}/c: the summary says 2 dead, 3 are: repaired"
    assert total.endswith(", 1 repaired.")
    assert dead(commands, name) == 3


@pytest.mark.parametrize("command", [("requeue", "--all"), ("delete", "--category", "TRANSIENT", "--yes")])
def test_people_see_a_bar(commands: Commands, name: str, command: tuple[str, ...]) -> None:
    make_dead(commands, name, 150)
    bar = at_a_terminal(commands, "dlq", command[0], name, "c", *command[1:])
    assert command[0].capitalize() in bar
    assert "150" in bar


def test_an_audit_shows_a_bar(ways: dict[str, Commands], name: str) -> None:
    commands = ways["sqlite"]
    make_dead(commands, name, 1)
    bar = at_a_terminal(commands, "dlq", "audit")
    assert "Recounting" in bar
    assert re.search(r"#\]  (\d+)/\1\b", bar)


def test_scripts_see_no_bar(commands: Commands, name: str) -> None:
    make_dead(commands, name, 3)
    for command in (("archive", name, "c", "--all"), ("audit",)):
        result = commands.run("dlq", *command)
        assert (result.exit_code, result.stderr) == (0, "")


def test_large_numbers_go_in_steps_that_are_each_exact(ways: dict[str, Commands], name: str) -> None:
    commands = ways["server"]
    make_dead(commands, name, 450, counted=250)
    small = Commands(commands.database_url, environment={"BROKER_DLQ_CHUNK": "100"})
    assert small.done("dlq", "requeue", name, "c", "--all") == "450 requeued, 0 skipped.\n"
    assert dead(commands, name) == 0
    with opened(commands) as broker:
        assert broker.parts.settings.dlq_chunk > 100


def at_a_terminal(commands: Commands, *arguments: str) -> str:
    """What a command that must succeed shows on standard error to somebody at a terminal."""
    terminal, side = pty.openpty()
    process = commands.process(*arguments, stderr=side)
    stdout = process.communicate(timeout=60)[0]
    assert process.returncode == 0, stdout
    shown = os.read(terminal, 65_536).decode()
    os.close(terminal)
    os.close(side)
    return shown
