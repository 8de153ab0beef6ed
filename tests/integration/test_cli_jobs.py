"""`broker job`: the same on a database and on a running broker."""

import getpass
import json
import re

import pytest

from tests.support import states
from tests.support.brokers import make_broker
from tests.support.cli import Commands, run

pytestmark = pytest.mark.xdist_group("cli")
UNKNOWN = "00000000000000000000"


def make(commands: Commands, name: str, count: int = 3) -> list[str]:
    """A channel with a consumer and so many jobs; gives their ids, oldest first."""
    commands.set_up(name, "c")
    lines = "".join(f"{number}\n" for number in range(count))
    commands.done("publish", name, "--producer", f"{name}-p", "--lines", input=lines)
    return [one["id"] for one in reversed(commands.json("job", "list", name, "c", "--limit", "2000"))]


def test_a_job_is_shown_with_its_history(each_commands: Commands, name: str) -> None:
    (job_id,) = make(each_commands, name, 1)
    assert "Nothing has happened to it yet." in each_commands.done("job", "show", job_id)
    each_commands.done("job", "fail", job_id)
    shown = each_commands.json("job", "show", job_id)
    assert (shown["state"], shown["deadReason"], shown["channelId"]) == ("dead", "FORCED", name)
    (event,) = shown["history"]
    actor = "admin" if each_commands.url else f"{getpass.getuser()} (command line)"
    assert (event["event"], event["actor"], event["detail"]) == ("failed", actor, "by hand, it was queued")
    text = each_commands.done("job", "show", job_id)
    assert re.search(r"^state +dead$", text, re.MULTILINE)
    assert re.search(rf"^\S+Z  failed  {re.escape(actor)}  -", text, re.MULTILINE)


def test_jobs_are_listed_by_state(each_commands: Commands, name: str) -> None:
    ids = make(each_commands, name, 5)
    each_commands.done("job", "fail", ids[0], ids[1])
    each_commands.done("job", "done", ids[2])
    for state, expected in (
        ("all", [ids[4], ids[3], ids[2], ids[1], ids[0]]),
        ("queued", [ids[3], ids[4]]),
        ("dead", [ids[1], ids[0]]),
        ("delivered", [ids[2]]),
        ("inflight", []),
        ("archived", []),
    ):
        found = each_commands.json("job", "list", name, "c", "--state", state)
        assert [one["id"] for one in found] == expected
    result = each_commands.run("job", "list", name, "c", "--limit", "2")
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["id", "state"], [ids[4], "queued"], [ids[3], "queued"]]
    assert result.stderr == "There are more than these 2: see --limit.\n"
    nothing = each_commands.run("job", "list", name, "c", "--state", "archived")
    assert (nothing.stdout, nothing.stderr, nothing.exit_code) == ("", "There are no such jobs.\n", 0)


def test_more_jobs_than_a_page_holds_are_listed(commands: Commands, name: str) -> None:
    ids = make(commands, name, 230)
    assert len(set(ids)) == 230
    assert len(commands.json("job", "list", name, "c", "--limit", "201")) == 201


def test_an_act_says_what_was_done_and_what_not(each_commands: Commands, name: str) -> None:
    first, second, third = make(each_commands, name)
    assert each_commands.done("job", "fail", first, second) == "2 failed, 0 skipped, 0 not found.\n"
    result = each_commands.run("job", "retry", first, second, third, UNKNOWN)
    assert (result.exit_code, result.stdout) == (1, "2 requeued, 1 skipped, 1 not found.\n")
    assert result.stderr == f"{third}: skipped: it is queued\n{UNKNOWN}: not found\n"
    told = json.loads(each_commands.run("job", "done", first, UNKNOWN, "--json").stdout)
    assert told == {
        "results": [
            {"id": first, "result": "done", "reason": None},
            {"id": UNKNOWN, "result": "not found", "reason": None},
        ],
        "done": 1,
        "skipped": 0,
        "notFound": 1,
    }
    assert each_commands.json("job", "show", first)["state"] == "delivered"


def test_more_jobs_than_a_request_takes_are_acted_on(commands: Commands, name: str) -> None:
    chosen = make(commands, name, 1203)
    assert commands.done("job", "fail", *chosen) == "1203 failed, 0 skipped, 0 not found.\n"


def test_the_start_of_an_id_is_enough(commands: Commands, name: str) -> None:
    first, second = make(commands, name, 2)
    said = commands.refused("job", "fail", first[:14])
    assert said.startswith(f"Error: jobs[0]: '{first[:14]}' is the start of several ids: ")
    assert first in said and second in said
    assert commands.refused("job", "show", first[:14]).startswith(f"Error: jobId: '{first[:14]}' is the start of")
    commands.done("job", "drop", second, "--yes")
    start = first[:17]
    assert commands.json("job", "show", start)["id"] == first
    assert commands.json("job", "fail", start)["results"][0]["id"] == first


def test_what_cannot_be_an_id_is_told(commands: Commands) -> None:
    assert commands.refused("job", "show", UNKNOWN) == f"Error: There is no job '{UNKNOWN}'. [not-found]\n"
    for bad in ("short", "a/b/../../c", "%%%%%%%%", UNKNOWN + "0"):
        assert "must be a job's id" in commands.refused("job", "show", bad)
        assert "must be a job's id" in commands.refused("job", "drop", "--yes", bad)
    assert "[not-found]" in commands.refused("job", "list", "no-such-channel", "c")


def test_dropping_asks_first(commands: Commands, name: str) -> None:
    first, second, third = make(commands, name)
    for answer in ("n\n", ""):
        said = commands.refused("job", "drop", first, second, input=answer)
        assert "Drop 2 jobs for good, history and all?" in said
        assert "Nothing was dropped. Give --yes to drop without being asked." in said
    assert commands.done("job", "drop", first, input="y\n") == "1 dropped, 0 skipped, 0 not found.\n"
    assert commands.done("job", "drop", second, "--yes") == "1 dropped, 0 skipped, 0 not found.\n"
    assert [one["id"] for one in commands.json("job", "list", name, "c")] == [third]


def test_what_is_in_flight_is_dropped_only_by_force(commands: Commands, name: str) -> None:
    (job_id,) = make(commands, name, 1)
    broker = make_broker(commands.database_url, upgrade=False)
    states.take(broker, job_id)
    broker.parts.database.dispose()
    assert [one["id"] for one in commands.json("job", "list", name, "c", "--state", "inflight")] == [job_id]
    result = commands.run("job", "drop", job_id, "--yes")
    assert result.exit_code == 1 and "its lease has not ended" in result.stderr
    assert commands.json("job", "drop", job_id, "--yes", "--force")["done"] == 1


@pytest.mark.parametrize("name", ["show", "list", "retry", "fail", "done", "drop"])
def test_help_has_an_example(name: str) -> None:
    assert f"broker job {name} " in run("job", name, "--help").output


def test_usage_errors(commands: Commands) -> None:
    for arguments in (("retry",), ("fail", "--force", UNKNOWN), ("list", "a"), ("list", "a", "b", "--state", "x")):
        assert commands.run("job", *arguments).exit_code == 2
