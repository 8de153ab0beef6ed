"""What goes wrong on the way is told in one clear sentence, with an exit code that scripts can use."""

import json
import socket
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from sqlalchemy import make_url

from broker.cli import server as server_module
from broker.runtime.ports import free_port
from tests.support.answering import Answer, answering
from tests.support.authority import Authority
from tests.support.brokers import ADMIN_TOKEN, make_broker
from tests.support.cli import Commands, process, run

pytestmark = pytest.mark.xdist_group("cli")


def _said(url: str, code: int = 3) -> str:
    result = run("--url", url, "--token", ADMIN_TOKEN, "channel", "list")
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_nobody_listens() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert _said(url).startswith(f"Error: Cannot reach a broker at {url} (")


def test_the_name_is_not_known() -> None:
    assert _said("http://nowhere.invalid:8080").startswith(
        "Error: Cannot reach a broker at http://nowhere.invalid:8080 ("
    )


def test_it_does_not_answer_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "TIMEOUT", httpx.Timeout(0.2))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert (
            _said(url) == f"Error: {url} did not answer within 0.2 s, so whether the request was done is not known.\n"
        )


PROBLEM = {"Content-Type": "application/problem+json", "Retry-After": "7"}
UNAVAILABLE = {"code": "unavailable", "detail": "The database cannot serve now.", "requestId": "r1"}
INTERNAL = {"code": "internal", "detail": "Something is wrong.", "requestId": "r1"}


@pytest.mark.parametrize(
    ("answer", "code", "expected"),
    [
        ((200, {"Content-Type": "text/html"}, b"<p>Hello"), 3, "is not a broker (HTTP 200, text/html)."),
        ((502, {}, b""), 3, "is not a broker (HTTP 502, no content)."),
        ((404, {"Content-Type": "application/problem+json"}, b'["x"]'), 3, "is not a broker (HTTP 404,"),
        ((404, {"Content-Type": "application/problem+json"}, b"{"), 3, "is not a broker (HTTP 404,"),
        ((200, {"Content-Type": "application/json"}, b"{"), 3, "is not a broker (HTTP 200, application/json)."),
        ((200, {"Content-Type": "application/json"}, b"{}"), 3, "is not a broker (HTTP 200, application/json)."),
        ((301, {"Location": "https://other.example/"}, b""), 3, "redirects to https://other.example/: give"),
        (
            (503, PROBLEM, json.dumps(UNAVAILABLE).encode()),
            3,
            "The database cannot serve now. Try again in 7 s; http://",
        ),
        ((500, PROBLEM, json.dumps(INTERNAL).encode()), 1, "Something is wrong. (request id r1) [internal]"),
        ((400, PROBLEM, b'{"code": "invalid-request", "detail": "odd"}'), 1, "request: odd [invalid-request]"),
        ((418, PROBLEM, b'{"code": "teapot", "detail": "odd"}'), 1, "odd (request id None) [teapot]"),
    ],
)
def test_what_answers_is_told(answer: Answer, code: int, expected: str) -> None:
    with answering(answer) as url:
        assert expected in _said(url, code)


def test_a_certificate_that_is_not_trusted() -> None:
    with answering((200, {}, b""), Authority().server()) as url:
        said = _said(url)
        assert said.startswith(f"Error: The certificate of {url} is not trusted here (")
        assert said.endswith("Name the file of your certificate authority in SSL_CERT_FILE.\n")


def test_tls_where_there_is_none() -> None:
    with answering((200, {}, b"")) as url:
        assert _said(url.replace("http:", "https:")).startswith("Error: Cannot reach a broker at https://")


def test_the_admin_token_is_missing_or_wrong(ways: dict[str, Commands]) -> None:
    url = str(ways["sqlite by url"].url)
    for token, code in (([], "unauthorized"), (["--token", "wrong"], "forbidden")):
        result = run("--url", url, *token, "channel", "list")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.endswith(f"Give the right admin token with --token or BROKER_TOKEN. [{code}]\n")
    assert run("channel", "list", BROKER_URL=url, BROKER_TOKEN=ADMIN_TOKEN).exit_code == 0
    unfit = run("--url", url, "--token", "a\nb", "channel", "list")
    assert unfit.exit_code == 2
    assert "--token: must be printable ASCII" in unfit.stderr


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://", "http://x:y", "http://u:p@x", "http://x/?a=b"])
def test_an_address_that_is_none_is_wrong_usage(url: str) -> None:
    result = run("--url", url, "channel", "list")
    assert result.exit_code == 2
    assert f"--url {url!r} is not an address like http://HOST:8080." in result.stderr


def test_a_server_or_a_database_not_both(database_url: str) -> None:
    make_broker(database_url).parts.database.dispose()
    both = run("--url", "http://127.0.0.1:1", "--database-url", database_url, "channel", "list")
    assert (both.exit_code, "Give --url or --database-url, not both." in both.stderr) == (2, True)
    preferred = run("--database-url", database_url, "channel", "list", "--json", BROKER_URL="http://127.0.0.1:1")
    assert (preferred.exit_code, preferred.stdout) == (0, "[]\n")
    not_there = run("--url", "http://127.0.0.1:1", "db", "upgrade")
    assert (not_there.exit_code, "it cannot be given --url" in not_there.stderr) == (2, True)


def test_the_schema_must_be_there(database_url: str) -> None:
    result = run("--database-url", database_url, "channel", "list")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: The database has no schema yet. Run: broker db upgrade\n"


def test_an_admin_token_in_the_settings_does_not_matter_to_the_database(sqlite_url: str) -> None:
    make_broker(sqlite_url).parts.database.dispose()
    result = run("--database-url", sqlite_url, "channel", "list", "--json", BROKER_ADMIN_TOKEN="secret")
    assert (result.exit_code, result.stdout) == (0, "[]\n")


def _other_port(url: str) -> str:
    return make_url(url).set(host="127.0.0.1", port=free_port()).render_as_string(hide_password=False)


def _other_user(url: str) -> str:
    return make_url(url).set(username="nobody", password="hunter2").render_as_string(hide_password=False)


def _other_database(url: str) -> str:
    return make_url(url).set(database="no_such_database").render_as_string(hide_password=False)


@pytest.mark.parametrize("spoilt", [_other_port, _other_user, _other_database])
def test_a_database_server_that_cannot_be_used(server_url: str, spoilt: Callable[[str], str]) -> None:
    result = run("--database-url", spoilt(server_url), "channel", "list")
    assert (result.exit_code, result.stdout) == (3, ""), result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.endswith("[unavailable]\n")
    assert "hunter2" not in result.stderr


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("This is a text, and long enough not to be taken for an empty database." * 50)
    for file in (tmp_path / "text", tmp_path / "text" / "below", tmp_path):
        result = run("--database-url", f"sqlite:///{file}", "channel", "list")
        assert (result.exit_code, result.stdout) == (3, ""), result.output
        assert result.stderr.startswith("Error: ")


def test_settings_that_cannot_be_used() -> None:
    result = run("channel", "list", BROKER_LEASE="soon")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: lease (BROKER_LEASE): 'soon' is not a duration")


def test_processes_end_with_the_documented_codes(sqlite_url: str) -> None:
    make_broker(sqlite_url).parts.database.dispose()
    calls = {
        ("--database-url", sqlite_url, "channel", "list"): 0,
        ("--database-url", sqlite_url, "channel", "show", "nobody"): 1,
        ("--database-url", "bogus", "config", "check"): 2,
        ("--url", "http://127.0.0.1:1", "channel", "list"): 3,
    }
    running = {call: process(*call, stdin=subprocess.DEVNULL) for call in calls}
    ended = {call: (one.communicate(timeout=60), one.returncode) for call, one in running.items()}
    assert {call: code for call, (_, code) in ended.items()} == calls
    assert not any(b"Traceback" in stderr for (_, stderr), _ in ended.values())


def test_a_reader_that_goes_away_is_no_reason_to_complain(sqlite_url: str) -> None:
    made = make_broker(sqlite_url)
    with made.parts.database.engine.begin() as connection:
        made_at = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)
        rows = ", ".join(f"('p{n}', 'p', 'x', '{made_at}.000000', '{made_at}.000000', 1)" for n in range(3000))
        connection.exec_driver_sql(
            f'INSERT INTO producer ("producerId", name, "tokenHash", "createdAt", "changedAt", revision) VALUES {rows}'
        )
    made.parts.database.dispose()
    listing = process("--database-url", sqlite_url, "producer", "list", stdin=subprocess.DEVNULL)
    assert listing.stdout is not None
    assert listing.stderr is not None
    assert listing.stdout.readline() == b"p2999\n"
    listing.stdout.close()
    assert listing.stderr.read() == b""
    assert listing.wait(30) == 1
    listing.stderr.close()


def test_help_tells_the_exit_codes_and_every_command_has_an_example() -> None:
    assert "3  the server or the database cannot be reached" in run("--help").stdout
    for words in (
        *((noun, verb) for noun in ("channel", "producer", "consumer") for verb in VERBS),
        ("publish",),
        ("message", "show"),
    ):
        shown = run(*words, "--help").stdout
        assert f"\n  broker {' '.join(words)} " in shown
        assert "--json" in shown


VERBS = ("create", "list", "show", "update", "delete")
