"""The database fixtures, seen from outside: what a run of pytest says and how it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.private_server import free_port
from tests.support.servers import VARIABLE

A_TEST = """
from sqlalchemy import create_engine, text

def test_it(database_url):
    engine = create_engine(database_url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    engine.dispose()
"""


def run_pytest(folder: Path, test: str, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run a test where the server that was given is not there."""
    file = folder / "test_small.py"
    file.write_text(A_TEST)
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tests.support.fixtures",
            "-v",
            "-c",
            os.devnull,
            f"{file}{test}",
            *options,
        ],
        env={**os.environ, VARIABLE: f"mysql+pymysql://root@127.0.0.1:{free_port()}/"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_tests_on_sqlite_never_look_for_a_server(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "::test_it[sqlite]")
    assert "1 passed" in run.stdout
    assert run.returncode == pytest.ExitCode.OK


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "in a worker"])
def test_tests_on_a_server_that_is_not_there_fail_the_run_and_say_why(tmp_path: Path, workers: tuple[str, ...]) -> None:
    run = run_pytest(tmp_path, "", *workers)
    assert f"the server that {VARIABLE} names does not answer" in run.stdout
    assert run.returncode in {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED}
    assert "skipped" not in run.stdout


def test_both_kinds_of_database_are_tested(database_url: str, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.id
    assert database_url.startswith({"sqlite": "sqlite:///", "server": "mysql+pymysql://"}[kind])
