"""The shell lines of the documents are executed as written, on a real broker; only the address is the test's own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.brokers import LiveBroker

ROOT = Path(__file__).parents[2]
ENVIRONMENT = """
export BROKER_URL=http://127.0.0.1:8080
export BROKER_TOKEN=$(cat var/admin-token)
export PATH="$PWD/.venv/bin:$PATH"
"""


def shell_of(page: str) -> str:
    """All shell lines of a document."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL))


def test_the_first_walk_of_the_readme_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(shell_of("README.md"), tmp_path, live)
        assert "201 Created" in printed
        counts = httpx.get(f"{live.url}/channel/orders/messages-status", headers=channel_token()).json()["counts"]
        assert counts["DISPATCHED"]["Count"] == 2001


def test_the_walk_through_the_jobs_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(ENVIRONMENT + shell_of("docs/jobs.md"), tmp_path, live)
        for told in ("2 failed", "1 requeued", "1 done", "1 dropped"):
            assert f"\n{told}, 0 skipped, 0 not found.\n" in printed
        left = json.loads(printed[printed.rindex("\n[\n") :])
        assert sorted(job["state"] for job in left) == ["delivered", "queued", "queued"]


def test_the_walk_through_pulling_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(ENVIRONMENT + shell_of("docs/pulling.md"), tmp_path, live)
        told = re.findall(r'"result": "(\w+)"', printed)
        assert told == ["extended", "delivered", "retrying", "dead", "late"]
        left = json.loads(printed[printed.rindex("[\n") :])
        assert sorted(job["state"] for job in left) == ["dead", "delivered", "delivered", "retrying"]


def test_the_walk_through_the_dead_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path) as live:
        printed = run(ENVIRONMENT + shell_of("docs/dead-letters.md"), tmp_path, live)
        for told in ("1 requeued, 0 skipped, 0 not found", "1 deleted, 0 skipped, 0 not found"):
            assert f"\n{told}.\n" in printed
        for told in ("4 requeued, 0", "0 deleted, 5", "4 archived, 0", "1 moved, 0"):
            assert f"\n{told} skipped.\n" in printed
        assert re.search(r"^coins +bank +5 ", printed, re.MULTILINE)
        assert printed.endswith(" dead, all exact.\n")


@contextmanager
def running(folder: Path) -> Iterator[LiveBroker]:
    """A broker as `make run` starts it."""
    live = LiveBroker(f"sqlite:///{folder}/var/broker.db", folder / "up.log", "up", BROKER_ADMIN_TOKEN="none")
    (folder / ".venv").symlink_to(Path(sys.prefix))
    try:
        yield live
    finally:
        assert live.stop() == 0


def run(shell: str, folder: Path, live: LiveBroker) -> str:
    """What the lines print; each must succeed."""
    script = shell.replace("http://127.0.0.1:8080", live.url)
    assert script.count(live.url) == 1
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=plain_environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_file_that_the_documents_point_at_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]
    assert len(links) >= 5
    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def channel_token() -> dict[str, str]:
    return {"X-Broker-Channel-Token": "orders-secret"}


def plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
