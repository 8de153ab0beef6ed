"""The shell lines of README are executed as written, against a real broker; only the address is the test's own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx

from tests.support.brokers import LiveBroker

ROOT = Path(__file__).parents[2]
WALK = "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL))


def test_the_first_walk_of_the_readme_does_what_it_says(tmp_path: Path) -> None:
    live = LiveBroker(f"sqlite:///{tmp_path}/var/broker.db", tmp_path / "up.log", "up", BROKER_ADMIN_TOKEN="none")
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    script = WALK.replace("http://127.0.0.1:8080", live.url)
    assert script.count(live.url) == 1 and "curl" in script
    try:
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=plain_environment(),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "201 Created" in done.stdout
        counts = httpx.get(f"{live.url}/channel/orders/messages-status", headers=channel_token()).json()["counts"]
        assert counts["DISPATCHED"]["Count"] == 2001
    finally:
        assert live.stop() == 0


def test_every_file_that_the_documents_point_at_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]
    assert len(links) >= 5
    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def channel_token() -> dict[str, str]:
    return {"X-Broker-Channel-Token": "orders-secret"}


def plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
