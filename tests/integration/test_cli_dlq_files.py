"""`broker dlq export` and `import`: what one writes the other takes, and once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Commands
from tests.support.dead_commands import dead, make_dead

pytestmark = pytest.mark.xdist_group("cli")
EVERY_BYTE = bytes(range(256)) * 4
SAME = ("deadReason", "retryAttemptCount", "priority", "state")


def exported(commands: Commands, name: str, *filters: str) -> list[Any]:
    """The lines of an export."""
    return [json.loads(line) for line in commands.done("dlq", "export", name, "c", *filters).splitlines()]


def shown(commands: Commands, name: str) -> list[Any]:
    """All that is dead, each with its history and message, the oldest death first."""
    listed = commands.json("dlq", "list", name, "c", "--oldest", "--limit", "5000")
    return [commands.json("dlq", "show", one["id"]) for one in listed]


def error_of(job: Any) -> Any:
    """What went wrong, without the fingerprint, which the tests' dead have not from the broker."""
    return job["error"] and {key: job["error"][key] for key in ("type", "category", "text")}


def publish_rich(commands: Commands, name: str) -> str:
    """A message with everything a message can carry; gives its job."""
    fields = ["--priority", "7", "--content-type", "text/x-own", "--hop-count", "3", "--metadata", '{"a": [1, null]}']
    more = ["--header", "x-one=ü", "--expires-at", "2100-01-01T00:00:00Z", "--message-id", "rich"]
    commands.done("publish", name, "--producer", f"{name}-p", *fields, *more, input=EVERY_BYTE)
    return str(commands.json("message", "show", name, "rich")["jobs"][0]["id"])


def test_export_then_delete_then_import_restores(each_commands: Commands, name: str, tmp_path: Path) -> None:
    make_dead(each_commands, name, 3, counted=2)
    each_commands.done("job", "fail", publish_rich(each_commands, name))
    before = shown(each_commands, name)
    (tmp_path / "dead").write_text(each_commands.done("dlq", "export", name, "c"))
    each_commands.done("dlq", "delete", name, "c", "--all", "--force", "--yes")
    assert dead(each_commands, name) == 0
    told = each_commands.done("dlq", "import", name, "c", str(tmp_path / "dead"))
    assert told == "4 created, 0 ignored, 0 rejected\n"
    assert dead(each_commands, name) == 4
    after = {one["sourceJobId"]: one for one in shown(each_commands, name)}
    assert list(after) == [one["id"] for one in before]
    for one in before:
        restored = after[one["id"]]
        assert {key: restored[key] for key in SAME} == {key: one[key] for key in SAME}
        assert (restored["message"], error_of(restored)) == (one["message"], error_of(one))
        assert restored["history"][:-1] == one["history"]
        assert restored["history"][-1]["event"] == "imported"
        origin = restored["origin"]
        assert (origin["channelId"], origin["consumerId"], origin["messageId"]) == (name, "c", one["messageId"])
        assert (origin["failedAt"], origin["retryCount"]) == (one["deadAt"], one["retryAttemptCount"])


def test_a_second_import_changes_nothing(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 3)
    lines = each_commands.done("dlq", "export", name, "c")
    assert each_commands.done("dlq", "import", name, "c", input=lines) == "0 created, 3 ignored, 0 rejected\n"
    each_commands.done("dlq", "delete", name, "c", "--all", "--force", "--yes")
    assert each_commands.done("dlq", "import", name, "c", input=lines) == "3 created, 0 ignored, 0 rejected\n"
    restored = shown(each_commands, name)
    assert each_commands.json("dlq", "import", name, "c", input=lines) == {
        "created": 0, "ignored": 3, "rejected": 0, "rejections": []
    }  # fmt: skip
    assert shown(each_commands, name) == restored
    assert dead(each_commands, name) == 3


def test_filters_choose_and_the_count_is_told_to_people(each_commands: Commands, name: str) -> None:
    ids = make_dead(each_commands, name, 3)
    assert [one["sourceJobId"] for one in exported(each_commands, name)] == ids
    middle = each_commands.json("dlq", "show", ids[1])["deadAt"]
    assert middle in [one["origin"]["failedAt"] for one in exported(each_commands, name, "--died-before", middle)]
    assert exported(each_commands, name, "--category", "RESOURCE") == []
    result = each_commands.run("dlq", "export", name, "c")
    assert (result.exit_code, result.stderr) == (0, "3 jobs exported.\n")


def test_large_payloads_end_pages_early_and_all_are_exported(ways: dict[str, Commands], name: str) -> None:
    for number, commands in enumerate((ways["sqlite"], ways["server by url"])):
        commands.set_up(f"{name}-{number}", "c")
        for size in (3_000_000, 3_000_000, 5_000_000, 10, 10):
            commands.done("publish", f"{name}-{number}", "--producer", f"{name}-{number}-p", input=b"x" * size)
        ids = [one["id"] for one in commands.json("job", "list", f"{name}-{number}", "c")]
        commands.done("job", "fail", *ids)
        lines = exported(commands, f"{name}-{number}")
        assert sorted(len(one["payload"]) for one in lines) == [10, 10, 3_000_000, 3_000_000, 5_000_000]
        assert len({one["sourceJobId"] for one in lines}) == 5
        commands.done("dlq", "delete", f"{name}-{number}", "c", "--all", "--force", "--yes")
        text = "\n".join(map(json.dumps, lines))
        assert commands.done("dlq", "import", f"{name}-{number}", "c", input=text).startswith("5 created")


def test_more_than_a_page_goes_out_and_comes_back(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 250)
    lines = each_commands.done("dlq", "export", name, "c")
    assert len(lines.splitlines()) == 250
    each_commands.set_up(f"{name}-other", "c")
    told = each_commands.done("dlq", "import", f"{name}-other", "c", input=lines * 3)
    assert told == "250 created, 500 ignored, 0 rejected\n"
    assert dead(each_commands, f"{name}-other") == 250


def test_lines_that_are_wrong_are_named_and_do_not_hold_up_the_others(each_commands: Commands, name: str) -> None:
    each_commands.set_up(name, "c")
    lines = '{"payload": "good"}\n\n{"state": "odd"}\n{\n[]\n{"payload": "good", "sourceJobId": "a"}\n'
    result = each_commands.run("dlq", "import", name, "c", input=lines)
    assert result.exit_code == 1
    assert result.stdout == "2 created, 0 ignored, 3 rejected (lines 3, 4, 5)\n"
    assert "line 3: state: must be queued or dead [invalid-request]\n" in result.stderr
    assert "line 4: line: is not JSON [invalid-request]\n" in result.stderr
    assert sorted(one["sourceJobId"] or "" for one in each_commands.json("job", "list", name, "c")) == ["", "a"]


def test_a_consumer_that_is_not_there_is_refused(each_commands: Commands, name: str) -> None:
    each_commands.set_up(name)
    assert "has no consumer 'c'" in each_commands.refused("dlq", "export", name, "c")
    result = each_commands.run("dlq", "import", name, "c", input='{"payload": "x"}\n')
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"Channel '{name}' has no consumer 'c'. [not-found]" in result.stderr


def test_an_export_that_is_read_slowly_goes_on_while_others_are_requeued(ways: dict[str, Commands], name: str) -> None:
    commands = ways["server"]
    ids = make_dead(commands, name, 120)
    with commands.backend() as backend:
        lines = backend.dlq.export((name, "c"), {})
        first = next(lines)["sourceJobId"]
        commands.done("dlq", "requeue", name, "c", *ids[100:110])
        rest = [one["sourceJobId"] for one in lines]
    assert [first, *rest] == ids[:100] + ids[110:]
