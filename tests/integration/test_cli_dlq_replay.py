"""`broker dlq replay` on every way: retained and moved, conditions, a target, and a dry run."""

import pytest

from tests.support.cli import Commands
from tests.support.dead_commands import dead, make_dead

pytestmark = pytest.mark.xdist_group("cli")


def waiting(commands: Commands, name: str, consumer: str = "c") -> int:
    """How many jobs wait at a consumer."""
    return len(commands.json("job", "list", name, consumer, "--state", "queued", "--limit", "5000"))


def move(commands: Commands, name: str) -> None:
    """All dead of the consumer go to a dead channel."""
    commands.set_up(f"{name}-dead")
    commands.done("consumer", "update", name, "c", "--dead-channel", f"{name}-dead")
    commands.done("dlq", "move", name, "c", "--all")


def test_retained_and_moved_are_replayed(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 5, counted=3)
    move(each_commands, name)
    assert waiting(each_commands, f"{name}-dead", "dead-letters") == 5
    foretold = each_commands.done("dlq", "replay", name, "c", "--dry-run")
    assert foretold == (
        "5 would be replayed (0 retained, 5 moved meet the conditions);"
        " left alone: 0 leased, 0 dead in the dead channel.\n"
    )
    assert each_commands.done("dlq", "replay", name, "c", "--limit", "2") == "2 replayed, 0 skipped.\n"
    assert (waiting(each_commands, name), waiting(each_commands, f"{name}-dead", "dead-letters")) == (2, 3)
    assert each_commands.done("dlq", "replay", name, "c") == "3 replayed, 0 skipped.\n"
    assert (waiting(each_commands, name), dead(each_commands, name)) == (5, 0)


def test_the_limit_takes_the_oldest_of_those_that_are_selected(commands: Commands, name: str) -> None:
    ids = make_dead(commands, name, 6, counted=4)
    selected = ("--category", "TRANSIENT", "--fingerprint", "f" * 32, "--since", "2020-01-01T00:00:00Z")
    told = commands.json("dlq", "replay", name, "c", "--limit", "5", *selected, "--until", "2100-01-01T00:00:00Z")
    assert (told["act"], told["state"], told["done"], told["limit"], told["target"]) == ("replay", "done", 5, 5, None)
    assert set(told["filter"]) == {"category", "fingerprint", "diedAfter", "diedBefore"}
    assert [one["id"] for one in commands.json("dlq", "list", name, "c")] == ids[5:]
    assert dead(commands, name) == 1
    assert commands.json("operation", "show", told["id"]) == told


def test_a_target_gets_them(commands: Commands, name: str) -> None:
    make_dead(commands, name, 3, counted=2)
    commands.set_up(f"{name}-t", "other")
    told = commands.json("dlq", "replay", name, "c", "--target", f"{name}-t/other")
    assert (told["done"], told["target"]) == (3, {"channelId": f"{name}-t", "consumerId": "other"})
    assert (waiting(commands, f"{name}-t", "other"), dead(commands, name), waiting(commands, name)) == (3, 0, 0)
    said = commands.refused("dlq", "replay", name, "c", "--target", f"{name}-t/nobody")
    assert f"target: channel '{name}-t' has no consumer 'nobody'" in said
    assert "target: must be {channelId, consumerId}" in commands.refused("dlq", "replay", name, "c", "--target", "x")


def test_json_of_a_dry_run_is_that_of_the_api(commands: Commands, name: str) -> None:
    make_dead(commands, name, 3)
    told = commands.json("dlq", "replay", name, "c", "--dry-run", "--limit", "2", "--category", "NETWORK")
    assert told == {
        "dryRun": True, "channelId": name, "consumerId": "c", "filter": {"category": "NETWORK"}, "limit": 2,
        "target": None, "replayable": 0, "retained": 0, "moved": 0, "leftAlone": {"inflight": 0, "dead": 0},
        "complete": True,
    }  # fmt: skip
    assert dead(commands, name) == 3


def test_who_does_not_wait_is_told_how_far_it_is(commands: Commands, name: str) -> None:
    make_dead(commands, name, 2)
    assert commands.done("dlq", "replay", name, "c", "--no-follow") == "2 replayed, 0 skipped.\n"
    assert dead(commands, name) == 0


def test_a_consumer_that_is_not_there_is_told(commands: Commands, name: str) -> None:
    commands.set_up(name)
    said = commands.refused("dlq", "replay", name, "nobody")
    assert said == f"Error: Channel '{name}' has no consumer 'nobody'. [not-found]\n"
