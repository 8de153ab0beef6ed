"""Runs the shell lines of a document on a real broker; only addresses and the folder are the test's own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.brokers import LiveBroker

PROGRAMS = 'export PATH="$PWD/.venv/bin:$PATH" BROKER_CONFIG=none'
ADDRESS = "http://127.0.0.1:8080"
ENVIRONMENT = f"""
export BROKER_URL={ADDRESS}
export BROKER_TOKEN=$(cat var/admin-token)
export PATH="$PWD/.venv/bin:$PATH"
"""
AT_THE_END = """trap 'started=$(jobs -p); [ -z "$started" ] || kill $started 2>/dev/null || true; wait' EXIT"""
WALK_SECONDS = 240


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[LiveBroker]:
    """A broker as `make run` starts it."""
    live = LiveBroker(
        f"sqlite:///{folder}/var/broker.db", folder / "up.log", "up", (), BROKER_ADMIN_TOKEN="none", **settings
    )
    link_programs(folder)
    try:
        yield live
    finally:
        assert live.stop() == 0


def link_programs(folder: Path) -> None:
    """The folder has the programs where a checkout has them."""
    (folder / ".venv").symlink_to(Path(sys.prefix))


def run(shell: str, folder: Path, live: LiveBroker) -> str:
    """What the lines print; each must succeed."""
    script = shell.replace(ADDRESS, live.url)
    assert script.count(live.url) == 1, "a walk names the broker's address once"
    return execute(script, folder)


def execute(script: str, folder: Path) -> str:
    """Run it in a shell that ends at the first line that fails, and ends what it started in the background."""
    shell = subprocess.Popen(
        ["bash", "-e", "-c", f"{AT_THE_END}\n{script}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=plain_environment(),
        start_new_session=True,
    )
    try:
        printed, complained = shell.communicate(timeout=WALK_SECONDS)
    except BaseException:
        os.killpg(shell.pid, signal.SIGKILL)
        raise
    assert shell.returncode == 0, printed + complained
    return printed


def plain_environment() -> dict[str, str]:
    """Nothing of the tests' own settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
