"""docs/installing.md: what it says is done as written, and what needs an engine that is not here names what exists."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.support.cli import run
from tests.support.deploy_files import ROOT
from tests.support.shipped_server import ShippedServer

PAGE = "docs/installing.md"
CLIENT = "[client]\nhost={url.host}\nport={url.port}\nuser={url.username}\npassword={url.password}\n"
_PATH = re.compile(r"(?:deploy/[\w./-]+|constraints\.txt)")
MADE_BY_THE_READER = ("deploy/docker/.env", "deploy/docker/broker.env")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / PAGE).read_text(), re.MULTILINE | re.DOTALL)


def console_lines() -> list[str]:
    lines = [line for block in blocks("console") for line in block.splitlines()]
    assert len(lines) > 30
    assert [line for line in lines if not line.startswith("$ ")] == []
    return [line.removeprefix("$ ") for line in lines]


@pytest.fixture
def shipped() -> Iterator[ShippedServer]:
    server = ShippedServer.start_new()
    yield server
    server.stop()


@pytest.mark.tool("mariadbd")
def test_the_lines_install_the_broker_and_bring_a_backup_back(shipped: ShippedServer, tmp_path: Path) -> None:
    script = "\n".join(blocks("sh")).replace("/opt/broker", str(tmp_path / "opt"))
    script = re.sub(r"@db\.example/broker", f"@127.0.0.1:{shipped.port}/broker", script)
    done = subprocess.run(
        ["bash", "-e", "-c", script.replace("broker.sql", str(tmp_path / "broker.sql"))],
        cwd=ROOT,
        env=environment(shipped, tmp_path),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^The schema is \d+ \(it was not there\)\.$", done.stdout, re.MULTILINE)
    assert done.stdout.count("tried with two sessions") == 2
    assert "BAD" not in done.stdout
    assert "CREATE TABLE `dlq_summary`" in (tmp_path / "broker.sql").read_text()


def environment(shipped: ShippedServer, home: Path) -> dict[str, str]:
    """Of an administrator whose client knows where the server is."""
    (home / ".my.cnf").write_text(CLIENT.format(url=make_url(shipped.url)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
    return {**kept, "HOME": str(home), "BROKER_CONFIG": "none"}


def test_every_file_that_a_line_names_is_there() -> None:
    named = {path for line in console_lines() for path in _PATH.findall(line)} - {*MADE_BY_THE_READER}
    assert len(named) >= 12
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_command_of_the_broker_is_one() -> None:
    text = "\n".join([*console_lines(), *blocks("sh")])
    commands = re.findall(r"^(?:.* )?(?:\S*/)?broker ((?:[a-z][a-z-]* ?)+)$", text, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        told = run(*shlex.split(command), "--help")
        assert (told.exit_code, told.stdout.startswith("Usage:")) == (0, True), command
