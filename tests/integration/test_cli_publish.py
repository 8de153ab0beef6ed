"""`broker publish` and `broker message show`: every byte arrives, once, and what does not is accounted for."""

import json
import os
import pty
from pathlib import Path

import pytest

from tests.support.brokers import StartBroker, wait_until
from tests.support.cli import TOKENS, Commands

pytestmark = pytest.mark.xdist_group("cli")
EVERY_BYTE = bytes(range(256)) * 40 + b"\r\n\0"


def _publish(commands: Commands, name: str, *options: str, input: str | bytes | None = None) -> str:
    return commands.done("publish", name, "--producer", f"{name}-p", *options, input=input)


def _raw(commands: Commands, name: str, message_id: str) -> bytes:
    return commands.run("message", "show", name, message_id, "--raw").stdout_bytes


def test_payloads_come_back_byte_for_byte(each_commands: Commands, name: str, tmp_path: Path) -> None:
    each_commands.set_up(name)
    for payload, number in zip([b"", b"\xff", EVERY_BYTE, "😀\n".encode()], "1234", strict=True):
        (tmp_path / "payload").write_bytes(payload)
        _publish(each_commands, name, "--message-id", f"file-{number}", "--file", str(tmp_path / "payload"))
        _publish(each_commands, name, "--message-id", f"stdin-{number}", input=payload)
        assert _raw(each_commands, name, f"file-{number}") == _raw(each_commands, name, f"stdin-{number}") == payload


def test_every_option_arrives(each_commands: Commands, name: str) -> None:
    each_commands.set_up(name, "c")
    times = ["--scheduled-for", "2040-01-31T12:00:00+01:00", "--expires-at", "2040-02-01T00:00:00Z"]
    headers = ["--header", "x-one=1=2", "--header", "x-two= ü "]
    others = ["--priority", "7", "--content-type", "text/x-own", "--hop-count", "3", "--metadata", '{"a": [1, null]}']
    made = json.loads(_publish(each_commands, name, "--json", "--data", "hällo", *times, *headers, *others))
    assert made["location"] == f"/channel/{name}/scheduled-message/{made['messageId']}"
    shown = each_commands.json("message", "show", name, made["messageId"])
    assert (shown["payload"], shown["contentType"], shown["producedBy"]) == ("hällo", "text/x-own", f"{name}-p")
    assert (shown["priority"], shown["hopCount"], shown["metadata"]) == (7, 3, {"a": [1, None]})
    assert shown["headers"] == {"x-one": "1=2", "x-two": " ü "}
    assert (shown["scheduledFor"], shown["expiresAt"]) == ("2040-01-31T11:00:00.000000Z", "2040-02-01T00:00:00.000000Z")
    assert [job["state"] for job in shown["jobs"]] == ["scheduled"]


def test_show_is_a_table_with_the_jobs(commands: Commands, name: str) -> None:
    commands.set_up(name, "first", "second")
    assert (
        _publish(commands, name, "--message-id", "m", "--data", "\x1b[31mred" + "x" * 2000)
        == f"Published /channel/{name}/message/m\n"
    )
    shown = commands.done("message", "show", name, "m")
    assert "payload          \\x1b[31mred" in shown
    assert "(and 1008 more characters: see --raw)" in shown
    jobs = [line.split()[1:4] for line in shown.splitlines()[-2:]]
    assert jobs == [["first", "QUEUED", "queued"], ["second", "QUEUED", "queued"]]


def test_show_says_when_there_are_no_jobs(commands: Commands, name: str) -> None:
    commands.set_up(name)
    _publish(commands, name, "--message-id", "m", "--data", "")
    assert commands.done("message", "show", name, "m").endswith("\nIt has no jobs: its channel had no consumers.\n")
    assert "not both" in commands.refused("message", "show", name, "m", "--raw", "--json", code=2)


def test_what_the_broker_refuses_is_told_with_its_code(commands: Commands, name: str) -> None:
    commands.set_up(name)
    publish = ["publish", name, "--producer", f"{name}-p", "--data", "x"]
    commands.done(*publish, "--message-id", "m")
    assert (
        commands.refused(*publish, "--message-id", "m")
        == "Error: The channel has a message 'm' already. [duplicate-message]\n"
    )
    assert "There is no channel 'nowhere'. [not-found]" in commands.refused("publish", "nowhere", *publish[2:])
    said = commands.refused(*publish, "--priority", "10", "--message-id", "a/b")
    assert said.startswith("Error: 2 fields are wrong [invalid-request]\n  priority: must be")
    assert "  messageId: cannot contain" in said
    assert "nobody" in commands.refused("publish", name, "--producer", "nobody", "--data", "x") or commands.url
    assert commands.payloads(name) == [b"x"]


def test_a_payload_that_is_too_large_is_refused(commands: Commands, name: str, tmp_path: Path) -> None:
    commands.set_up(name)
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(20_000_000)
    for file_size in (5_000_001, 20_000_000):
        os.truncate(tmp_path / "huge", file_size)
        said = commands.refused("publish", name, "--producer", f"{name}-p", "--file", str(tmp_path / "huge"))
        assert said.endswith("[too-large]\n")
    os.truncate(tmp_path / "huge", 5_000_000)
    _publish(commands, name, "--file", str(tmp_path / "huge"))
    assert [len(payload) for payload in commands.payloads(name)] == [5_000_000]


def test_wrong_options_are_wrong_usage(commands: Commands, name: str) -> None:
    publish = ["publish", name, "--producer", f"{name}-p"]
    for options, expected in (
        (["--data", "x", "--file", "-"], "Give --data or --file, not both."),
        (["--lines", "--message-id", "x"], "--message-id names one message"),
        (["--lines-format", "json"], "--lines-format needs --lines."),
        (["--file", "no-such-file"], "No such file"),
        (["--metadata", "{"], "'{' is not JSON"),
        (["--header", "x"], "'x' is not of the form key=value"),
    ):
        assert expected in commands.refused(*publish, *options, code=2)


def test_publishing_to_a_server_needs_the_right_tokens(ways: dict[str, Commands], name: str) -> None:
    commands = ways["sqlite by url"]
    commands.set_up(name)
    bare = Commands(commands.database_url, commands.url)
    publish = ["publish", name, "--producer", f"{name}-p", "--data", "x"]
    assert "needs --channel-token and --producer-token." in bare.refused(*publish, code=2)
    tokens = ["--channel-token", "channel-token", "--producer-token", "producer-token"]
    bare.done(*publish, *tokens)
    hint = "Check --producer, --producer-token and --channel-token."
    assert f"The channel token is wrong. {hint} [forbidden]" in bare.refused(*publish, *tokens, "--channel-token", "x")
    assert f"The producer token is wrong. {hint} [forbidden]" in bare.refused(
        *publish, *tokens, "--producer-token", "x"
    )
    assert f"The producer is not known. {hint} [unauth" in bare.refused(*publish, *tokens, "--producer", "nobody")
    assert "--channel-token: must be printable ASCII" in bare.refused(*publish, *tokens, "--channel-token", "ü", code=2)


def test_ten_thousand_lines_arrive_exactly_once(each_commands: Commands, name: str, tmp_path: Path) -> None:
    each_commands.set_up(name, "c")
    lines = [f"line {number} ü".encode() for number in range(10_000)]
    (tmp_path / "lines").write_bytes(b"\n".join(lines))
    assert (
        _publish(each_commands, name, "--lines", "--file", str(tmp_path / "lines"))
        == "10000 created, 0 duplicates, 0 rejected\n"
    )
    assert sorted(each_commands.payloads(name)) == sorted(lines)
    assert each_commands.job_count(name) == 10_000


def test_lines_are_taken_as_they_are(commands: Commands, name: str) -> None:
    commands.set_up(name)
    stream = b"first\r\n\n\xff\xfe\n  blanks  \nlast"
    assert (
        _publish(commands, name, "--lines", "--priority", "3", input=stream) == "5 created, 0 duplicates, 0 rejected\n"
    )
    assert sorted(commands.payloads(name)) == sorted([b"first", b"", b"\xff\xfe", b"  blanks  ", b"last"])


def test_no_lines_are_no_messages(commands: Commands, name: str) -> None:
    commands.set_up(name)
    assert _publish(commands, name, "--lines", input="") == "0 created, 0 duplicates, 0 rejected\n"


JSON_LINES = (
    '{"payload": "one", "messageId": "1"}',
    '{"payload": {"two": 2}, "priority": 5}',
    "not json",
    '{"payload": "again", "messageId": "1"}',
    "",
    '{"payload": 1e999}',
    '{"payload": NaN}',
    '{"payload": "\\ud800"}',
    "[1]",
    '{"payload": "x", "bogus": 1}',
    '{"payload": "AP8=", "payloadEncoding": "base64", "contentType": "a/b"}',
)


def test_json_lines_say_everything_of_a_message(each_commands: Commands, name: str) -> None:
    each_commands.set_up(name)
    arguments = ["publish", name, "--producer", f"{name}-p", "--lines", "--lines-format", "json", "--priority", "2"]
    result = each_commands.run(*arguments, "--json", input="\n".join(JSON_LINES))
    assert result.exit_code == 1
    account = json.loads(result.stdout)
    rejections = account.pop("rejections")
    assert account == {"created": 3, "duplicates": 1, "rejected": 6}
    assert [rejected["line"] for rejected in rejections] == [3, 6, 7, 8, 9, 10]
    assert rejections[0] == {"line": 3, "code": "invalid-request", "detail": "line: is not JSON"}
    assert rejections[-1]["detail"] == "bogus: is not a field of a message"
    assert "line 9: line: must be a JSON object [invalid-request]\n" in result.stderr
    assert sorted(each_commands.payloads(name)) == [b"\x00\xff", b"one", b'{"two":2}']
    assert each_commands.json("message", "show", name, "1")["priority"] == 2


def test_publishing_the_same_lines_again_changes_nothing(each_commands: Commands, name: str) -> None:
    each_commands.set_up(name)
    lines = "\n".join(f'{{"payload": "{number}", "messageId": "{number}"}}' for number in range(1200))
    options = ["--lines", "--lines-format", "json"]
    assert _publish(each_commands, name, *options, input=lines) == "1200 created, 0 duplicates, 0 rejected\n"
    assert _publish(each_commands, name, *options, input=lines) == "0 created, 1200 duplicates, 0 rejected\n"
    assert len(each_commands.payloads(name)) == 1200


def test_the_first_twenty_rejected_lines_are_named(commands: Commands, name: str) -> None:
    commands.set_up(name)
    lines = "\n".join('{"payload": ""}' if number % 2 else "no" for number in range(1, 1401))
    result = commands.run("publish", name, "--producer", f"{name}-p", "--lines", "--lines-format", "json", input=lines)
    numbers = ", ".join(str(number) for number in range(2, 42, 2))
    assert result.exit_code == 1
    assert result.stdout == f"700 created, 0 duplicates, 700 rejected (lines {numbers} and 680 more)\n"
    assert len(result.stderr.splitlines()) == 20


def test_an_unknown_channel_stops_the_lines(commands: Commands, name: str) -> None:
    commands.set_up(name)
    said = commands.refused("publish", "nowhere", "--producer", f"{name}-p", "--lines", input="a\nb\n")
    assert said.startswith("Stopped in lines 1 to 2. Before that: 0 created, 0 duplicates, 0 rejected.\n")
    assert "There is no channel 'nowhere'. [not-found]" in said


def test_batches_become_smaller_when_the_server_reads_less(start_broker: StartBroker, sqlite_url: str) -> None:
    live = start_broker(sqlite_url, BROKER_MAX_PAYLOAD_BYTES="1000")
    commands = Commands(sqlite_url, live.url, TOKENS)
    commands.set_up("small")
    lines = [b"%d" % number for number in range(600)]
    result = commands.run(
        "publish", "small", "--producer", "small-p", "--lines", input=b"\n".join([*lines, b"x" * 1001])
    )
    assert result.stdout == "600 created, 0 duplicates, 1 rejected (lines 601)\n", result.stderr
    assert "line 601: The payload has 1001 bytes" in result.stderr
    assert sorted(commands.payloads("small")) == sorted(lines)


def test_a_server_that_goes_away_stops_the_lines(start_broker: StartBroker, sqlite_url: str) -> None:
    live = start_broker(sqlite_url)
    commands = Commands(sqlite_url, live.url, TOKENS)
    commands.set_up("channel")
    process = commands.process("publish", "channel", "--producer", "channel-p", "--lines")
    assert process.stdin is not None
    process.stdin.write(b"x\n" * 501)
    process.stdin.flush()
    wait_until(lambda: len(commands.payloads("channel")) == 500, 20)
    live.kill()
    stdout, stderr = process.communicate(b"x\n" * 499, timeout=30)
    assert (process.returncode, stdout) == (3, b"")
    assert stderr.startswith(
        b"Stopped in lines 501 to 1000. Before that: 500 created, 0 duplicates, 0 rejected.\nError: "
    )
    assert b"Traceback" not in stderr


def test_people_see_a_bar(ways: dict[str, Commands], name: str, tmp_path: Path) -> None:
    commands = ways["sqlite"]
    commands.set_up(name)
    (tmp_path / "lines").write_bytes(b"x\n" * 1000)
    terminal, side = pty.openpty()
    file = ["--file", str(tmp_path / "lines")]
    process = commands.process("publish", name, "--producer", f"{name}-p", "--lines", *file, stderr=side)
    assert process.communicate(timeout=30)[0] == b"1000 created, 0 duplicates, 0 rejected\n"
    bar = os.read(terminal, 65_536)
    os.close(terminal)
    os.close(side)
    assert b"Publishing" in bar
    assert b"100%" in bar
    assert len(commands.payloads(name)) == 1000


def test_bytes_pass_through_a_real_pipe(ways: dict[str, Commands], name: str) -> None:
    commands = ways["server by url"]
    commands.set_up(name)
    process = commands.process("publish", name, "--producer", f"{name}-p", "--message-id", "m")
    assert process.communicate(EVERY_BYTE, timeout=30) == (f"Published /channel/{name}/message/m\n".encode(), b"")
    assert process.returncode == 0
    assert _raw(commands, name, "m") == EVERY_BYTE
