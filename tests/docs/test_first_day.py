"""A clean checkout, `make run` with nothing in the package cache, a first publication, and the whole quick start."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from broker.runtime.ports import free_port
from tests.docs.pages import ROOT, shell_blocks
from tests.docs.walks import ADDRESS, execute, plain_environment
from tests.support.brokers import wait_until

PROMISED_SECONDS = 120
INSTALL_SECONDS = 240
STOP_SECONDS = 50
TARGET = "127.0.0.1:9000"


@dataclass
class FirstStart:
    """What `make run` did in a folder where nothing was before."""

    folder: Path
    url: str
    log: Path
    began: float
    process: "subprocess.Popen[bytes]"

    @property
    def told(self) -> str:
        """What it has printed so far."""
        return self.log.read_text()

    def is_up(self) -> bool:
        """Whether it has greeted and answers; an end before that is an error."""
        assert self.process.poll() is None, self.told
        return "Ctrl-C stops it." in self.told and answers(f"{self.url}/livez")

    def stop(self) -> None:
        """Ctrl-C, which the terminal sends to all of them."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        assert self.told.rstrip().endswith("Stopped.")


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstStart]:
    """The first line of the quick start, in a clean copy; only the port is the test's own."""
    folder = tmp_path_factory.mktemp("checkout")
    copy_tracked(folder)
    started = start(folder, shell_blocks("docs/quickstart.md")[0])
    try:
        wait_until(started.is_up, INSTALL_SECONDS, lambda: started.told)
        yield started
    finally:
        started.stop()


def answers(address: str) -> bool:
    """Whether somebody says yes there."""
    try:
        return httpx.get(address, timeout=2).is_success
    except httpx.HTTPError:
        return False


def copy_tracked(folder: Path) -> None:
    """Every file that a commit of the working tree would hold."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)


def start(folder: Path, line: str) -> FirstStart:
    """In a session of its own, with an empty package cache."""
    port, log = free_port(), folder.parent / "make-run.log"
    own = {"BROKER_LISTEN": f"127.0.0.1:{port}", "PIP_CACHE_DIR": str(folder.parent / "no-cache")}
    began = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-c", f"exec env {line}"],
            cwd=folder,
            stdout=out,
            stderr=out,
            env={**plain_environment(), **own},
            start_new_session=True,
        )
    return FirstStart(folder, f"http://127.0.0.1:{port}", log, began, process)


@pytest.mark.alone
def test_a_clean_checkout_publishes_within_two_minutes(
    first_start: FirstStart, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for line in first_start.told.splitlines() if line.startswith("curl ")]
    assert len(lines) == 3
    printed = execute("\n".join(lines), first_start.folder)
    took = time.monotonic() - first_start.began
    with capsys.disabled():
        print(f"\nmake run, with an empty package cache, to the first publication: {took:.0f} s")
    assert "201 Created" in printed
    assert '"ACKNOWLEDGED": {"Count": 0' in printed and '"DISPATCHED": {"Count": 1' in printed
    assert took < PROMISED_SECONDS


@pytest.mark.alone
def test_the_quick_start_gets_to_a_dead_letter_requeued(first_start: FirstStart) -> None:
    walk = "\n".join(shell_blocks("docs/quickstart.md")[1:]).replace(ADDRESS, first_start.url)
    assert walk.count(TARGET) == 2 and walk.count('("127.0.0.1", 9000)') == 1
    port = free_port()
    walk = walk.replace(TARGET, f"127.0.0.1:{port}").replace('("127.0.0.1", 9000)', f'("127.0.0.1", {port})')
    printed = execute(walk, first_start.folder)
    assert "HTTP/1.1 201 Created" in printed
    assert re.findall(r"^orders +billing +(\d+) ", printed, re.MULTILINE) == ["1", "0"]
    assert re.search(r"RETRIES_EXHAUSTED +NETWORK +0 +CONNECT", printed)
    assert "1 requeued, 0 skipped, 0 not found." in printed
    assert 'billing got {"order": 4711}' in printed
    history = printed[printed.rindex("\nat ") :]
    assert re.findall(r"^\S+Z +(\w+)", history, re.MULTILINE) == ["failed", "died", "requeued"]
