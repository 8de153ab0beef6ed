"""`broker channel|producer|consumer`: the same on a database and on a running broker, on both databases."""

import json
import re
from typing import Any

import pytest

from broker.domain.preconditions import Preconditions
from tests.support.cli import Commands, run

pytestmark = pytest.mark.xdist_group("cli")
ODD_IDS = ("%", "_", "' OR 1=1 --", "ünïcödé", "🐇🐇", "a b", "a+b&c=d;e", "%2F", "x" * 255, ":", "a@b", '"quoted"')


def test_the_same_commands_give_the_same_answers_whatever_they_work_on(ways: dict[str, Commands]) -> None:
    answers = {way: [_normal(each, command) for command in WALK] for way, each in ways.items()}
    first = answers.pop("sqlite")
    assert len({json.dumps(answer) for answer in first}) > len(WALK) / 2
    for way, others in answers.items():
        for command, expected, found in zip(WALK, first, others, strict=True):
            assert (way, command, found) == (way, command, expected)


def test_what_is_made_is_shown_once_and_can_be_used(commands: Commands, name: str) -> None:
    result = commands.run("channel", "create", name, "--json")
    assert json.loads(result.stdout)["token"]
    assert result.stderr == "The token is shown this once: keep it.\n"
    secrets = commands.run("consumer", "create", name, "push", "--callback-url", "http://example.com/")
    assert re.search(r"^signingSecret +whsec_", secrets.stdout, re.MULTILINE)
    assert "The signingSecret is shown this once: keep it." in secrets.stderr
    for shown in (commands.json("channel", "show", name), commands.json("consumer", "show", name, "push")):
        assert not {"token", "signingSecret"} & shown.keys()


def test_a_given_token_is_not_shown(commands: Commands, name: str) -> None:
    result = commands.run("producer", "create", name, "--token", "my-own-token", "--name", "A shop")
    assert result.exit_code == 0
    assert "my-own-token" not in result.output
    assert result.stderr == ""
    assert re.search(r"^name +A shop$", result.stdout, re.MULTILINE)


def test_create_takes_every_kind_of_value(each_commands: Commands, name: str) -> None:
    each_commands.done("channel", "create", f"{name}-dead")
    values = ("maxRetries=5", "retryPolicy=schedule", "retrySchedule=[1, 2.5]", "retryBase=30s", "consumerRate=none")
    options = [part for value in values for part in ("--set", value)]
    made = each_commands.json("channel", "create", name, "--paused", "--dead-channel", f"{name}-dead", *options)
    expected = {"retryPolicy": "schedule", "maxRetries": 5, "retryBase": 30, "retrySchedule": [1, 2.5]}
    assert made["settings"] == {**expected, "consumerRate": "none"}
    assert (made["paused"], made["deadChannel"]) == (True, f"{name}-dead")
    assert each_commands.json("channel", "show", name) == {key: value for key, value in made.items() if key != "token"}


def test_create_leaves_one_that_exists_alone(commands: Commands, name: str) -> None:
    before = commands.json("producer", "create", name, "--token", "secret")
    said = commands.refused("producer", "create", name, "--name", "other")
    assert said == (
        f"Error: There is a producer '{name}' already. "
        f"Change it with: broker producer update {name} [precondition-failed]\n"
    )
    assert commands.json("producer", "show", name) == before


def test_update_changes_only_what_is_given(commands: Commands, name: str) -> None:
    commands.done("channel", "create", name, "--name", "first", "--set", "maxRetries=5", "--set", "lease=5m")
    changed = commands.json("channel", "update", name, "--pause", "--set", "maxRetries=6", "--unset", "lease")
    assert (changed["name"], changed["paused"], changed["settings"]) == ("first", True, {"maxRetries": 6})
    changed = commands.json("channel", "update", name, "--resume", "--name", "second", "--unset", "maxRetries")
    assert (changed["name"], changed["paused"], changed["settings"]) == ("second", False, {})


def test_update_gives_a_consumer_another_way_to_its_jobs(commands: Commands, name: str) -> None:
    commands.done("channel", "create", name)
    commands.done("consumer", "create", name, "c", "--pull")
    pushed = commands.run("consumer", "update", name, "c", "--push", "--callback-url", "http://example.com/x", "--json")
    assert json.loads(pushed.stdout)["type"] == "push"
    assert "The signingSecret is shown this once" in pushed.stderr
    pulled = commands.json("consumer", "update", name, "c", "--pull", "--unset", "callbackUrl")
    assert (pulled["type"], pulled["callbackUrl"]) == ("pull", None)


@pytest.mark.parametrize("kind", ["producer", "channel", "consumer"])
def test_update_of_what_is_not_there_is_refused(commands: Commands, name: str, kind: str) -> None:
    commands.done("channel", "create", f"{name}-channel")
    ids = [f"{name}-channel", name] if kind == "consumer" else [name]
    said = commands.refused(kind, "update", *ids, "--name", "x")
    assert said.startswith(f"Error: There is no {kind} '{name}'. Make it with: broker {kind} create {' '.join(ids)} [")
    assert commands.refused(kind, "show", *ids)


def test_update_needs_something_to_change(commands: Commands, name: str) -> None:
    commands.done("channel", "create", name)
    assert "nothing to change" in commands.refused("channel", "update", name, code=2)
    both = commands.refused("channel", "update", name, "--set", "lease=5", "--unset", "lease", code=2)
    assert "--set and --unset cannot both name lease." in both


def test_if_match_protects_what_others_changed(commands: Commands, name: str) -> None:
    seen = commands.json("channel", "create", name)["etag"]
    newer = commands.json("channel", "update", name, "--name", "one", "--if-match", seen)["etag"]
    assert newer != seen
    assert "[precondition-failed]" in commands.refused("channel", "update", name, "--name", "two", "--if-match", seen)
    assert "[precondition-failed]" in commands.refused("channel", "delete", name, "--yes", "--if-match", seen)
    assert commands.json("channel", "update", name, "--name", "two", "--if-match", f'"{newer}"')["name"] == "two"


def test_delete_asks_first(commands: Commands, name: str) -> None:
    commands.done("producer", "create", name)
    for answer in ("n\n", ""):
        said = commands.refused("producer", "delete", name, input=answer)
        assert said.startswith(f"Delete producer '{name}' and all that belongs to it? [y/N]:")
        assert said.endswith("Nothing was deleted. Give --yes to delete without being asked.\n")
    assert commands.done("producer", "delete", name, input="y\n") == f"Deleted producer '{name}'.\n"
    assert f"There is no producer '{name}'. [not-found]" in commands.refused("producer", "delete", name, "--yes")


def test_delete_says_how_many_unfinished_jobs_there_are(each_commands: Commands, name: str) -> None:
    each_commands.set_up(name, "c")
    each_commands.done("publish", name, "--producer", f"{name}-p", "--lines", input="1\n2\n3\n")
    said = each_commands.refused("consumer", "delete", name, "c", "--yes")
    assert "has 3 unfinished jobs." in said
    assert "repeat with --force to drop them. [unfinished-jobs]" in said
    result = each_commands.run("consumer", "delete", name, "c", "--yes", "--force", "--json")
    assert json.loads(result.stdout) == {"id": "c", "deleted": True, "unfinishedJobs": 3}
    assert result.stderr == "The consumer has 3 unfinished jobs: gone with it.\n"
    assert each_commands.json("consumer", "list", name) == []


def test_a_channel_with_consumers_goes_only_by_force(commands: Commands, name: str) -> None:
    commands.set_up(name, "c")
    assert "or repeat with --force. [in-use]" in commands.refused("channel", "delete", name, "--yes")
    assert commands.json("channel", "delete", name, "--yes", "--force") == {"id": name, "deleted": True}
    assert "[not-found]" in commands.refused("consumer", "list", name)


def test_force_does_not_delete_a_dead_channel_in_use(commands: Commands, name: str) -> None:
    commands.done("channel", "create", f"{name}-dead")
    commands.done("channel", "create", name, "--dead-channel", f"{name}-dead")
    assert "[in-use]" in commands.refused("channel", "delete", f"{name}-dead", "--yes", "--force")
    assert commands.json("channel", "show", f"{name}-dead")["id"] == f"{name}-dead"


def test_list_follows_all_pages_newest_first(each_commands: Commands, name: str) -> None:
    expected = [f"{name}-{number:03}" for number in reversed(range(130))]
    with each_commands.backend() as backend:
        for producer_id in reversed(expected):
            backend.producers.put((producer_id,), {"token": "t"}, Preconditions())
    assert each_commands.json("producer", "list")[:130] == expected
    assert each_commands.json("producer", "list", "--limit", "101") == expected[:101]
    assert each_commands.done("producer", "list", "--limit", "2").splitlines() == expected[:2]


def test_an_empty_list_says_so_to_people_only(commands: Commands, name: str) -> None:
    commands.done("channel", "create", name)
    result = commands.run("consumer", "list", name)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "There are no consumers.\n")
    result = commands.run("consumer", "list", name, "--json")
    assert (json.loads(result.stdout), result.stderr) == ([], "")


def test_odd_ids_stay_as_they_are(each_commands: Commands, name: str) -> None:
    each_commands.done("channel", "create", name)
    for odd in ODD_IDS:
        assert each_commands.json("consumer", "create", name, odd, "--pull")["id"] == odd
        assert each_commands.json("consumer", "show", name, odd)["id"] == odd
    assert each_commands.json("consumer", "list", name) == list(reversed(ODD_IDS))
    each_commands.done("consumer", "delete", name, "%", "--yes")
    each_commands.done("consumer", "delete", name, "%2F", "--yes")
    assert each_commands.json("consumer", "list", name) == [odd for odd in reversed(ODD_IDS) if odd not in ("%", "%2F")]


@pytest.mark.parametrize("bad", ["a/b", "..", "", " x", "a\nb", "x" * 256, "?"])
def test_an_impossible_id_is_wrong_usage(bad: str) -> None:
    result = run("--url", "http://127.0.0.1:1", "channel", "show", bad)
    assert result.exit_code == 2
    assert "Invalid value for 'CHANNEL'" in result.stderr


def test_every_wrong_field_is_named(commands: Commands, name: str) -> None:
    said = commands.refused("channel", "create", name, "--set", "bogus=1", "--set", "maxRetries=1000")
    assert said.splitlines()[0] == "Error: 2 fields are wrong [invalid-request]"
    assert "  bogus: is not a known field" in said.splitlines()
    assert "  maxRetries: 1000 is out of range: -1 to 100" in said.splitlines()
    one = commands.refused("channel", "create", name, "--set", "lease=soon")
    assert one.startswith("Error: lease: 'soon' is not a duration")
    assert "callbackUrl: is needed" in _consumer_without_callback(commands, name)


@pytest.mark.parametrize("words", [["--set", "lease"], ["--set", "=5"], ["--limit", "3"], ["--set"]])
def test_words_that_make_no_sense_are_wrong_usage(words: list[str]) -> None:
    result = run("--url", "http://127.0.0.1:1", "channel", "create", "x", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr


def _consumer_without_callback(commands: Commands, name: str) -> str:
    commands.done("channel", "create", name)
    return commands.refused("consumer", "create", name, "c")


WALK: tuple[tuple[str, ...], ...] = (
    ("producer", "create", "shop", "--token", "producer-token"),
    ("producer", "list", "--limit", "1"),
    ("producer", "create", "shop"),
    ("producer", "create", "other", "--name", "Ünï"),
    ("producer", "update", "other", "--name", "Other"),
    ("producer", "show", "other"),
    ("producer", "show", "nobody"),
    ("producer", "delete", "other", "--yes"),
    ("producer", "delete", "other", "--yes"),
    ("channel", "create", "lost"),
    ("channel", "create", "orders", "--token", "channel-token", "--dead-channel", "lost", "--set", "maxRetries=5"),
    ("channel", "create", "third", "--dead-channel", "nowhere"),
    ("channel", "create", "third", "--set", "bogus=1", "--set", "lease=0s"),
    ("channel", "create", "third", "--set", 'retry={"attempts": 2, "cooldown": "5s"}'),
    ("channel", "update", "third", "--set", "retryPolicy=linear", "--unset", "retryBase", "--pause"),
    ("channel", "update", "orders", "--unset", "deadChannel"),
    ("channel", "show", "orders"),
    ("channel", "list", "--limit", "3"),
    ("channel", "delete", "third", "--yes", "--if-match", "r9"),
    ("channel", "delete", "third", "--yes"),
    ("consumer", "create", "orders", "billing", "--callback-url", "https://billing.example/hook"),
    ("consumer", "create", "orders", "bad", "--callback-url", "ftp://x"),
    ("consumer", "create", "nowhere", "reports", "--pull"),
    ("consumer", "create", "orders", "reports", "--pull", "--set", "lease=5m"),
    ("consumer", "update", "orders", "reports", "--token", "not a token"),
    ("consumer", "update", "orders", "nobody", "--pause"),
    ("consumer", "show", "orders", "billing"),
    ("consumer", "show", "orders", "nobody"),
    ("consumer", "show", "nowhere", "nobody"),
    ("consumer", "list", "orders"),
    ("consumer", "list", "nowhere"),
    ("publish", "orders", "--producer", "shop", "--message-id", "m1", "--data", "hällo", "--header", "x-a=b"),
    ("publish", "orders", "--producer", "shop", "--message-id", "m1", "--data", "again"),
    ("publish", "orders", "--producer", "shop", "--message-id", "a/b", "--data", "x", "--priority", "12"),
    ("publish", "orders", "--producer", "shop", "--data", "x", "--scheduled-for", "tomorrow"),
    ("publish", "orders", "--producer", "shop", "--data", "x", "--header", "host=x"),
    ("publish", "orders", "--producer", "shop", "--data", "x", "--metadata", "[1]"),
    ("publish", "nowhere", "--producer", "shop", "--data", "x"),
    ("publish", "orders", "--producer", "shop", "--data", "a\nb\n\nc", "--lines", "--priority", "3"),
    ("publish", "orders", "--producer", "shop", "--lines", "--lines-format", "json", "--data", '{"payload":1}\n{"x":1'),
    ("message", "show", "orders", "m1"),
    ("message", "show", "orders", "m2"),
    ("message", "show", "nowhere", "m1"),
    ("consumer", "delete", "orders", "billing", "--yes"),
    ("consumer", "delete", "orders", "billing", "--yes", "--force"),
    ("channel", "delete", "orders", "--yes"),
    ("channel", "delete", "orders", "--yes", "--force"),
    ("channel", "delete", "lost", "--yes"),
)  # fmt: skip


def _normal(commands: Commands, command: tuple[str, ...]) -> Any:
    """Exit code, answer and notes of a command, for programs and for people; times and what is made are blotted out."""
    changes = command[1] != "show" and command[1] != "list"
    answers = [commands.run(*command, "--json")] + ([] if changes else [commands.run(*command)])
    return [(found.exit_code, _blotted(found.stdout), _blotted(found.stderr)) for found in answers]


def _blotted(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
    text = re.sub(r'((?:token|signingSecret)"?:? +"?)[\w+/=-]+', r"\1<secret>", text)
    return re.sub(r"\b[0-9a-v]{20}\b", "<xid>", text)
