"""Whatever keeps `broker check-dlq` from knowing is one clear line and exit code 3: never a traceback, never OK."""

import contextlib
import datetime
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import click
import pytest
from click.testing import CliRunner

from broker.cli.plugin import Plugin
from broker.runtime.ports import free_port
from tests.support.answering import Answer, answering
from tests.support.authority import Authority
from tests.support.brokers import make_broker
from tests.support.cli import Commands, process, run
from tests.support.plugins import PluginOutput
from tests.support.proxy import CommitCutter

pytestmark = pytest.mark.xdist_group("cli")
CONSUMER = {
    "channelId": "orders",
    "consumerId": "billing",
    "deadCount": 5,
    "diedLastHour": 5,
    "lastCheckedAt": "2030-01-31T11:00:00.000000Z",
    "oldestDeadAt": "2030-01-31T10:00:00.000000Z",
    "utilizationPercent": 50,
}
STATUS = {"asOf": "2030-01-31T12:00:00.000000Z", "consumers": [CONSUMER]}
JSON = {"Content-Type": "application/json"}
PROBLEM = {"Content-Type": "application/problem+json", "Retry-After": "7"}


def unknown(*arguments: str, **environment: str) -> str:
    """What is told of a check that cannot know."""
    result = run(*arguments, **environment)
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (3, "", 1), result.output
    found = PluginOutput.parse(result.stdout)
    assert (found.level, found.figures) == ("UNKNOWN", {})
    return found.text


def asked(url: str, *arguments: str, **environment: str) -> str:
    """The same of a place."""
    return unknown("check-dlq", "--url", url, "-c", "1", *arguments, **environment)


def answer_of(body: object, status: int = 200, headers: dict[str, str] = JSON) -> Answer:
    return (status, headers, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "Give --warning or --critical: without a range this check could never alarm."),
        (("-c",), "Option '-c' requires an argument."),
        (("-c", ""), "--critical: '' is not a range like 10, 10:, ~:10, 10:20 or @10:20."),
        (("-c", "20:10"), "--critical: '20:10' starts above its end."),
        (("-w", "1", "-c", "ten"), "--critical: 'ten' is not a range like"),
        (("-w", "1h"), "--warning: '1h' is not a range like"),
        (("-w", "a|b\nc"), r"--warning: 'a\x7cb\nc' is not a range like"),
        (("--metric", "oldest", "-w", "-1h:"), "--warning: '-1h:' is not a range like"),
        (("--metric", "age", "-c", "1"), "Invalid value for '--metric': 'age' is not one of 'count',"),
        (("--metric", "oldest", "--total", "-c", "1"), "--total is for count and growth: there is no sum of oldest."),
        (("--channel", "a/b", "-c", "1"), "Invalid value for '--channel': cannot contain /"),
        (("-t", "soon", "-c", "1"), "--timeout: 'soon' is not a duration"),
        (("-t", "0", "-c", "1"), "--timeout: must be more than 0, and at most 1h."),
        (("-t", "2h", "-c", "1"), "--timeout: must be more than 0, and at most 1h."),
        (("--ca-file", "/no/such/file", "-c", "1"), "Invalid value for '--ca-file': File '/no/such/file' does not"),
        (("-H", "host", "-c", "1"), "No such option '-H'."),
        (("-c", "1", "orders"), "Got unexpected extra argument (orders)"),
        (("--url", "", "-c", "1"), "--url '' is not an address like http://HOST:8080."),
        (("--url", "http://$_HOSTBROKER_URL$:x", "-c", "1"), "--url 'http://$_HOSTBROKER_URL$:x' is not an address"),
    ],
)
def test_wrong_usage_is_unknown(arguments: tuple[str, ...], told: str) -> None:
    assert unknown("check-dlq", *arguments).startswith(told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--bogus", "check-dlq", "-c", "1"), "No such option '--bogus'."),
        (("--url", "http://x", "--database-url", "sqlite://", "check-dlq"), "Give --url or --database-url, not both."),
        (("--database-url", "sqlite://", "check-dlq", "--url", "http://x", "-c", "1"), "Give --url or --database-url,"),
        (("--database-url", "bogus", "check-dlq", "-c", "1"), "database_url"),
        (("--config", "/no/such/file", "check-dlq", "-c", "1"), "config (/no/such/file): cannot be read"),
    ],
)
def test_wrong_usage_before_the_command_is_unknown_too(arguments: tuple[str, ...], told: str) -> None:
    assert unknown(*arguments).startswith(told)


def test_settings_that_cannot_be_used_are_unknown() -> None:
    told = unknown("check-dlq", "-c", "1", BROKER_LEASE="soon", BROKER_LISTEN="x")
    assert told.startswith("lease (BROKER_LEASE): 'soon' is not a duration")
    assert "; listen (BROKER_LISTEN): 'x' is not host:port" in told


def test_other_commands_keep_their_codes() -> None:
    assert run("--bogus", "dlq", "status").exit_code == 2
    assert run("dlq", "list", "check-dlq").exit_code == 2


def test_help_and_version_check_nothing() -> None:
    shown = run("check-dlq", "--help")
    assert shown.exit_code == 3
    assert "\n  broker check-dlq --url http://HOST:8080 " in shown.stdout
    version = run("check-dlq", "-V")
    assert (version.exit_code, version.stdout.split()[:2]) == (3, ["broker", "check-dlq"])


def test_a_fault_of_the_program_is_unknown() -> None:
    @click.command(cls=Plugin)
    def faulty() -> None:
        raise RuntimeError("one|two\nthree")

    result = CliRunner().invoke(faulty)
    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout == "DLQ UNKNOWN - A fault in this program: RuntimeError: one\\x7ctwo; three\n"


def test_nobody_is_there() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert asked(url).startswith(f"Cannot reach a broker at {url} (")
    assert asked("http://nowhere.invalid:8080").startswith("Cannot reach a broker at http://nowhere.invalid:8080 (")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((200, {"Content-Type": "text/html"}, b"<p>Hello"), "is not a broker (HTTP 200, text/html)."),
        ((200, JSON, b"[]"), "is not a broker (HTTP 200, application/json)."),
        ((200, JSON, b"{}"), "is not a broker (HTTP 200, application/json)."),
        ((200, JSON, b"{"), "is not a broker (HTTP 200, application/json)."),
        ((200, {}, b""), "is not a broker (HTTP 200, no content)."),
        ((502, {}, b""), "is not a broker (HTTP 502, no content)."),
        ((302, {"Location": "https://other.example/"}, b""), "redirects to https://other.example/: give the address"),
        (
            answer_of({"code": "unavailable", "detail": "The database cannot serve now."}, 503, PROBLEM),
            "The database cannot serve now. Try again in 7 s; ",
        ),
        (
            answer_of({"code": "internal", "detail": "Wrong.", "requestId": "r1"}, 500, PROBLEM),
            "Wrong. (request id r1)",
        ),
        (answer_of({"consumers": []}), "There are no consumers."),
        (answer_of({"consumers": [CONSUMER]}), "not that of a broker of this version: KeyError('asOf')"),
        (answer_of({**STATUS, "asOf": "today"}), "not that of a broker of this version: Invalid("),
        (answer_of({**STATUS, "consumers": 5}), "not that of a broker of this version: TypeError("),
        (answer_of({**STATUS, "consumers": ["x"]}), "not that of a broker of this version: TypeError("),
        *(
            (answer_of({**STATUS, "consumers": [{**CONSUMER, "deadCount": odd}]}), "is not a number of a broker")
            for odd in (None, "5", "x|y\n", True, -1, float("inf"), float("nan"), [5])
        ),
    ],
)
def test_an_answer_that_tells_nothing_is_unknown(answer: Answer, told: str) -> None:
    with answering(answer) as url:
        assert told in asked(url)


def test_an_answer_that_breaks_off_is_unknown() -> None:
    status, headers, body = answer_of(STATUS)
    with answering((status, {**headers, "Content-Length": str(len(body) + 1)}, body)) as url:
        assert asked(url).startswith(f"The connection to {url} broke (")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def trusted(authority: Authority, tmp_path: Path) -> Path:
    """A file that names the authority."""
    file = tmp_path / "authority.pem"
    file.write_text(authority.pem)
    return file


def test_a_certificate_of_an_authority_that_is_named_is_trusted(authority: Authority, trusted: Path) -> None:
    with answering(answer_of(STATUS), authority.server()) as url:
        for given, environment in ((("--ca-file", str(trusted)), {}), ((), {"SSL_CERT_FILE": str(trusted)})):
            result = run("check-dlq", "--url", url, "-w", "4", *given, **environment)
            assert (result.exit_code, PluginOutput.parse(result.stdout).level) == (1, "WARNING"), result.output


def test_a_certificate_that_is_not_to_be_trusted_is_unknown(authority: Authority, trusted: Path) -> None:
    for context, given in (
        (authority.server(), ()),
        (Authority().server(), ("--ca-file", str(trusted))),
        (authority.server(hosts=("other.example",)), ("--ca-file", str(trusted))),
        (authority.server(life=-datetime.timedelta(hours=1)), ("--ca-file", str(trusted))),
    ):
        with answering(answer_of(STATUS), context) as url:
            told = asked(url, *given)
            assert told.startswith(f"The certificate of {url} is not trusted here (")
            assert told.endswith("does not vouch for it." if given else "in SSL_CERT_FILE.")


def test_a_file_without_certificates_and_tls_where_there_is_none_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    with answering(answer_of(STATUS)) as url:
        https = url.replace("http:", "https:")
        assert "empty.pem has no certificates that can be read" in asked(https, "--ca-file", f"{tmp_path}/empty.pem")
        assert asked(https).startswith(f"Cannot reach a broker at {https} (")


def test_a_server_that_says_nothing_is_unknown_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert asked(url, "-t", "200ms") == f"No answer from {url} within 200ms."


def test_a_server_that_never_comes_to_an_end_is_unknown_in_time() -> None:
    with dripping() as url:
        began = time.monotonic()
        assert asked(url, "-t", "0.5") == f"No answer from {url} within 500ms."
        assert time.monotonic() - began < 20


@contextlib.contextmanager
def dripping() -> Iterator[str]:
    """A server whose answer comes a byte at a time, each well within any time-out."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=_drip, args=(listener,), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def _drip(listener: socket.socket) -> None:
    client, _ = listener.accept()
    with client, contextlib.suppress(OSError):
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n")
        for _ in range(40):
            client.sendall(b" ")
            time.sleep(0.05)


def test_a_database_that_hangs_is_unknown_in_time(server_url: str) -> None:
    make_broker(server_url).parts.database.dispose()
    with CommitCutter(server_url) as proxy:
        proxy.freeze()
        began = time.monotonic()
        stdout, stderr, code = ended(process("--database-url", proxy.url, "check-dlq", "-c", "1", "-t", "1s"))
        assert (stdout, stderr, code) == ("DLQ UNKNOWN - No answer from the database within 1s.\n", "", 3)
        assert time.monotonic() - began < 30


def test_a_database_that_cannot_be_used_is_unknown(database_url: str, tmp_path: Path) -> None:
    assert unknown("--database-url", database_url, "check-dlq", "-c", "1").startswith("The database has no schema yet.")
    (tmp_path / "text").write_text("This is a text, and long enough not to be taken for an empty database." * 50)
    told = unknown("--database-url", f"sqlite:///{tmp_path}/text", "check-dlq", "-c", "1")
    assert told.startswith("file is not a database.")
    other = f"mysql+pymysql://nobody:hunter2@127.0.0.1:{free_port()}/x"
    told = unknown("--database-url", other, "check-dlq", "-c", "1")
    assert told.endswith("[unavailable]")
    assert "hunter2" not in told


def test_processes_end_as_monitoring_expects(ways: dict[str, Commands], name: str) -> None:
    commands = ways["sqlite by url"]
    commands.set_up(name, "c")
    for code, options in enumerate((("-c", "1"), ("-w", "1:"), ("-c", "1:"), ("-c", "x"))):
        stdout, stderr, ended_with = ended(commands.process("check-dlq", "--channel", name, *options))
        assert (ended_with, stderr, stdout.count("\n")) == (code, "", 1)
        assert PluginOutput.parse(stdout).level == ("OK", "WARNING", "CRITICAL", "UNKNOWN")[code]


def ended(running: subprocess.Popen[Any]) -> tuple[str, str, int]:
    stdout, stderr = running.communicate(timeout=60)
    return stdout.decode(), stderr.decode(), running.returncode
