"""`broker dlq` looks at the dead and takes them in hand one by one: the same on a database and on a running broker."""

import getpass
import json
import re

import pytest

from tests.support import states
from tests.support.cli import Commands, run
from tests.support.dead_commands import dead, make_dead, make_jobs, opened, standing

pytestmark = pytest.mark.xdist_group("cli")
UNKNOWN = "00000000000000000000"
KILLED = "was killed by hand and has retries left. Repeat with --force."


def test_the_status_is_exact_and_a_table(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 5, counted=3)
    assert dead(each_commands, name) == 5
    found = standing(each_commands, name)
    assert (found["checkpointedCount"], found["diedLastHour"], found["utilizationPercent"]) == (3, 5, 0.05)
    lines = each_commands.done("dlq", "status", "--channel", name).splitlines()
    assert lines[0].split() == [
        "channel",
        "consumer",
        "dead",
        "counted",
        "oldest",
        "last",
        "hour",
        "used",
        "checkpoint",
    ]
    assert re.fullmatch(rf"{name} +c +5 +3 +\d+s +5 +0\.05% +(\d+m )?\d+s", lines[1])
    assert re.fullmatch(r"total +5 +3 +\d+s +5 +- +-", lines[2])
    assert len(lines) == 3


def test_the_status_of_all_has_a_total(commands: Commands, name: str) -> None:
    make_dead(commands, name, 2)
    consumers = commands.json("dlq", "status")["consumers"]
    total = commands.done("dlq", "status").splitlines()[-1].split()
    assert total[:2] == ["total", str(sum(one["deadCount"] for one in consumers))]


def test_a_status_of_nobody_says_so_to_people(commands: Commands) -> None:
    result = commands.run("dlq", "status", "--channel", "no-such-channel")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "There are no such consumers.\n")
    assert commands.json("dlq", "status", "--channel", "no-such-channel")["consumers"] == []


def test_the_dead_are_listed_by_their_death(each_commands: Commands, name: str) -> None:
    ids = make_dead(each_commands, name, 2)
    late = each_commands.json("job", "list", name, "c", "--limit", "1")[0]["id"]
    each_commands.done("dlq", "requeue", name, "c", late)
    each_commands.done("job", "fail", late)
    early = next(one for one in ids if one != late)
    found = each_commands.json("dlq", "list", name, "c")
    assert [one["id"] for one in found] == [late, early]
    assert [one["id"] for one in each_commands.json("dlq", "list", name, "c", "--oldest")] == [early, late]
    assert (found[1]["deadReason"], found[1]["error"]["type"]) == ("RETRIES_EXHAUSTED", "HTTP_503")
    result = each_commands.run("dlq", "list", name, "c", "--limit", "1", "--oldest")
    head, line = result.stdout.splitlines()
    assert head.split() == ["id", "deadAt", "reason", "category", "retries", "type", "error"]
    assert line.split()[0] == early
    assert line.split()[2:] == ["RETRIES_EXHAUSTED", "TRANSIENT", "3", "HTTP_503", "no", "room"]
    assert result.stderr == "There are more than these 1: see --limit.\n"


def test_every_filter_finds_what_it_should(each_commands: Commands, name: str) -> None:
    ids = make_dead(each_commands, name, 2)
    killed = make_killed(each_commands, name, ids)
    at = each_commands.json("dlq", "show", killed)["deadAt"]
    for given, expected in (
        (("--category", "TRANSIENT", "--reason", "RETRIES_EXHAUSTED"), ids[1]),
        (("--reason", "FORCED"), killed),
        (("--error-type", "HTTP_503", "--reason", "RETRIES_EXHAUSTED"), ids[1]),
        (("--text", "o roo", "--reason", "RETRIES_EXHAUSTED"), ids[1]),
        (("--fingerprint", "f" * 32, "--reason", "RETRIES_EXHAUSTED"), ids[1]),
        (("--died-after", at), killed),
        (("--died-before", at, "--reason", "RETRIES_EXHAUSTED"), ids[1]),
    ):
        assert [one["id"] for one in each_commands.json("dlq", "list", name, "c", *given)] == [expected], given
    both = each_commands.json("dlq", "list", name, "c", "--category", "TRANSIENT")
    assert [one["id"] for one in both] == [killed, ids[1]]
    for other in (("--category", "NETWORK"), ("--error-type", "HTTP_50"), ("--died-before", "2020-01-01T00:00:00Z")):
        assert each_commands.json("dlq", "list", name, "c", *other) == []
    nothing = each_commands.run("dlq", "list", name, "c", "--text", "100%")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (0, "", "There are no such dead jobs.\n")


def test_more_dead_than_a_page_holds_are_listed(commands: Commands, name: str) -> None:
    ids = make_dead(commands, name, 230)
    found = [one["id"] for one in commands.json("dlq", "list", name, "c", "--limit", "1000")]
    assert (len(found), set(found)) == (230, set(ids))


def test_a_dead_job_is_shown_with_history_and_payload(each_commands: Commands, name: str) -> None:
    (job_id,) = make_jobs(each_commands, name, 1)
    said = each_commands.refused("dlq", "show", job_id)
    assert said == f"Error: Job {job_id} is queued, not dead. See: broker job show {job_id} [not-dead]\n"
    each_commands.done("job", "fail", job_id)
    found = each_commands.json("dlq", "show", job_id)
    assert (found["id"], found["deadReason"], found["message"]["payload"]) == (job_id, "FORCED", "0")
    assert [one["event"] for one in found["history"]] == ["failed"]
    text = each_commands.done("dlq", "show", job_id[:19])
    assert re.search(r"^deadReason +FORCED$", text, re.MULTILINE)
    assert re.search(r"^\S+Z  failed  ", text, re.MULTILINE)
    assert re.search(r"^payload +0$", text, re.MULTILINE)


def test_only_the_start_of_a_long_payload_is_shown(commands: Commands, name: str) -> None:
    commands.set_up(name, "c")
    commands.done("publish", name, "--producer", f"{name}-p", "--data", "\x1b[2J" + "x" * 5000)
    job_id = commands.json("job", "list", name, "c")[0]["id"]
    commands.done("job", "fail", job_id)
    text = commands.done("dlq", "show", job_id)
    assert "\x1b" not in text and "\\x1b[2Jxxx" in text
    assert "(and 4004 more characters: see --raw)" in text
    assert commands.json("dlq", "show", job_id)["message"]["payload"] == "\x1b[2J" + "x" * 5000


def test_requeue_by_id_says_what_became_of_each(each_commands: Commands, name: str) -> None:
    ids = make_dead(each_commands, name, 4, counted=2)
    each_commands.done("job", "done", ids[3])
    result = each_commands.run("dlq", "requeue", name, "c", ids[0], ids[2], ids[3], UNKNOWN)
    assert (result.exit_code, result.stdout) == (1, "2 requeued, 1 skipped, 1 not found.\n")
    assert result.stderr == f"{ids[3]}: skipped: it is delivered\n{UNKNOWN}: not found\n"
    assert dead(each_commands, name) == 1
    told = each_commands.json("dlq", "requeue", name, "c", ids[1])
    assert told == {
        "results": [{"id": ids[1], "result": "done", "reason": None}],
        "done": 1,
        "skipped": 0,
        "notFound": 0,
    }
    assert dead(each_commands, name) == 0
    event = each_commands.json("job", "show", ids[0])["history"][-1]
    actor = "admin" if each_commands.url else f"{getpass.getuser()} (command line)"
    assert (event["event"], event["actor"]) == ("requeued", actor)


def test_a_job_of_another_consumer_is_not_found(commands: Commands, name: str) -> None:
    (job_id,) = make_dead(commands, name, 1)
    other = f"{name}-other"
    commands.set_up(other, "c")
    for act in (("requeue",), ("delete", "--yes", "--force")):
        result = commands.run("dlq", act[0], other, "c", job_id, *act[1:])
        assert (result.exit_code, result.stderr) == (1, f"{job_id}: not found\n")
    assert "[not-found]" in commands.refused("dlq", "requeue", "no-such-channel", "c", job_id)
    assert dead(commands, name) == 1


def test_delete_by_id_takes_only_what_has_no_retries_left(each_commands: Commands, name: str) -> None:
    ids = make_dead(each_commands, name, 4, counted=2)
    killed = make_killed(each_commands, name, ids)
    each_commands.done("dlq", "requeue", name, "c", ids[3])
    result = each_commands.run("dlq", "delete", name, "c", ids[1], killed, ids[3], UNKNOWN, "--yes")
    assert (result.exit_code, result.stdout) == (1, "1 deleted, 2 skipped, 1 not found.\n")
    assert result.stderr == (
        f"{killed}: skipped: Job '{killed}' {KILLED}\n{ids[3]}: skipped: it is queued\n{UNKNOWN}: not found\n"
    )
    assert dead(each_commands, name) == 2
    result = each_commands.run("dlq", "delete", name, "c", killed, ids[3], "--force", "--yes", "--json")
    told = json.loads(result.stdout)
    assert [(one["id"], one["result"]) for one in told["results"]] == [(killed, "done"), (ids[3], "skipped")]
    assert dead(each_commands, name) == 1


def test_the_start_of_an_id_is_enough_and_names_one_job_only(each_commands: Commands, name: str) -> None:
    first, second, third = make_dead(each_commands, name, 3)
    for act in (("requeue",), ("delete", "--yes")):
        said = each_commands.refused("dlq", act[0], name, "c", third, first[:14], *act[1:])
        assert said.startswith(f"Error: jobId: '{first[:14]}' is the start of several ids: ")
        assert first in said and second in said
    assert each_commands.refused("dlq", "show", first[:14]).startswith("Error: jobId: ")
    assert dead(each_commands, name) == 3
    each_commands.done("job", "drop", "--yes", second, third)
    told = each_commands.json("dlq", "requeue", name, "c", first[:17], first, first)
    assert [one["id"] for one in told["results"]] == [first]
    unknown = each_commands.run("dlq", "requeue", name, "c", "0" * 10)
    assert (unknown.exit_code, unknown.stderr) == (1, "0000000000: not found\n")
    assert dead(each_commands, name) == 0


def test_deleting_asks_first(commands: Commands, name: str) -> None:
    ids = make_dead(commands, name, 3)
    for answer in ("n\n", ""):
        said = commands.refused("dlq", "delete", name, "c", *ids[:2], input=answer)
        assert f"Delete 2 jobs of {name}/c for good, history and all?" in said
        assert "Nothing was deleted. Give --yes to delete without being asked." in said
    assert commands.done("dlq", "delete", name, "c", ids[0], input="y\n") == "1 deleted, 0 skipped, 0 not found.\n"
    assert dead(commands, name) == 2


def test_what_cannot_be_an_id_is_told(commands: Commands, name: str) -> None:
    commands.set_up(name, "c")
    assert commands.refused("dlq", "show", UNKNOWN) == f"Error: There is no job '{UNKNOWN}'. [not-found]\n"
    for bad in ("short", "a/b/../../c", "%%%%%%%%", UNKNOWN + "0"):
        assert "must be a job's id" in commands.refused("dlq", "show", bad)
        assert "must be a job's id" in commands.refused("dlq", "requeue", name, "c", bad)
        assert "must be a job's id" in commands.refused("dlq", "delete", name, "c", bad, "--yes")


@pytest.mark.parametrize("command", ["requeue", "delete", "archive", "move"])
def test_what_is_meant_must_be_said_once(commands: Commands, name: str, command: str) -> None:
    commands.set_up(name, "c")
    for given in ((), ("--all", "--reason", "EXPIRED")):
        said = commands.refused("dlq", command, name, "c", *given, code=2)
        assert "Give ids, or filters such as --category, or --all: one of these." in said
    assert commands.run("dlq", command, name, "c", UNKNOWN, "--all").exit_code == 2


@pytest.mark.parametrize("command", ["list", "requeue", "delete", "archive", "move"])
@pytest.mark.parametrize(
    "wrong",
    [
        ("--category", "OTHER"),
        ("--reason", "x"),
        ("--text", ""),
        ("--error-type", " "),
        ("--fingerprint", ""),
        ("--text", "x" * 201),
        ("--died-after", "yesterday"),
        ("--died-before", "2030-01-31"),
    ],
)
def test_a_wrong_filter_is_a_wrong_usage(commands: Commands, name: str, command: str, wrong: tuple[str, str]) -> None:
    said = commands.refused("dlq", command, name, "c", *wrong, code=2)
    assert f"'{wrong[0]}'" in said
    assert "Traceback" not in said


def test_usage_errors(commands: Commands) -> None:
    for arguments in (
        ("list", "a"),
        ("list", "a", "b", "--limit", "0"),
        ("show",),
        ("status", "--channel", "a/b"),
        ("requeue", "a", "b", "--force", "--all"),
        ("archive", "a", "b", UNKNOWN),
        ("audit", "x"),
        ("export", "a"),
        ("import", "a", "b", "no-such-file"),
    ):
        assert commands.run("dlq", *arguments).exit_code == 2, arguments
    assert "[not-found]" in commands.refused("dlq", "list", "no-such-channel", "c")


@pytest.mark.parametrize(
    "name", ["status", "list", "show", "requeue", "delete", "archive", "move", "export", "import", "audit"]
)
def test_help_has_an_example(name: str) -> None:
    assert f"broker dlq {name}" in run("dlq", name, "--help").output.partition("\n")[2]


def make_killed(commands: Commands, name: str, ids: list[str]) -> str:
    """The first of them waits again and is killed by an operator, so that retries are left."""
    commands.done("dlq", "requeue", name, "c", ids[0])
    commands.done("job", "fail", ids[0])
    with opened(commands) as broker:
        assert states.row(broker, ids[0])["retryAttemptCount"] == 0
    assert json.loads(commands.done("job", "show", ids[0], "--json"))["deadReason"] == "FORCED"
    return ids[0]
