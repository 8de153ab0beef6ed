"""The picture of a terminal in the README: `python -m tests.docs.capture` makes it from a real session."""

import fcntl
import html
import io
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
from contextlib import suppress
from pathlib import Path

import httpx
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.docs.pages import ROOT
from tests.docs.walks import PROGRAMS, execute, plain_environment, running
from tests.support.brokers import LiveBroker, wait_until
from tests.support.target import Answer, Received, Target

PICTURE = ROOT / "docs" / "pictures" / "session.svg"
COLUMNS, ROWS = 118, 40
SECONDS = 60

READY = """
broker producer create shop
broker channel create orders
broker consumer create orders billing --callback-url {address} --set maxRetries=0 --set breakerThreshold=0
broker consumer create orders reports --pull
"""
FIRST = ("seq 1 200 >orders.txt", "broker publish orders --producer shop --lines --file orders.txt")
THEN = ("broker dlq status", "broker dlq list orders billing --limit 3", "broker dlq requeue orders billing --all")
LAST = ("broker dlq status", "broker dlq audit")


def record(folder: Path) -> str:
    """What a terminal shows, with its colours. The target fails for every tenth order until it is mended."""
    with running(folder, BROKER_DELIVERY_ALLOWED_NETWORKS="127.0.0.0/8") as live, Target(rule=_fail_for_some) as target:
        execute(f"{PROGRAMS}\n{READY.format(address=target.url('/hook'))}", folder)
        shown = [_typed(line, folder) for line in FIRST]
        _wait_for(live, dead=20, delivered=180)
        target.rule = lambda _: Answer(204)
        shown += [_typed(line, folder) for line in THEN]
        _wait_for(live, dead=0, delivered=200)
        shown += [_typed(line, folder) for line in LAST]
    return "\n".join(shown)


def draw(session: str) -> str:
    """It as an image that needs nothing from elsewhere; the plain text is in its description."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(session))
    image = console.export_svg(title="broker", theme=MONOKAI, unique_id="session")
    image = re.sub(r"@font-face \{.*?\}", "", image, flags=re.DOTALL).replace("Fira Code", "ui-monospace")
    description = f"<desc>{html.escape(Text.from_ansi(session).plain)}</desc>"
    lines = image.replace("<style>", f"{description}\n    <style>", 1).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def shape(image: str) -> list[str]:
    """The lines of the session without what differs from run to run: ids, ages, numbers, and the blanks beside them."""
    found = re.search(r"<desc>(.*?)</desc>", image, re.DOTALL)
    assert found, "the image has no description"
    text = re.sub(r"\b[0-9a-v]{20}\b", "ID", html.unescape(found[1]))
    text = re.sub(r"\b\d+[dhm] \d+[hms]\b", "0s", text)
    return [re.sub(r"\s+", " ", re.sub(r"\d+", "0", line)).strip() for line in text.splitlines()]


def _fail_for_some(request: Received) -> Answer:
    return Answer(503 if int(request.body) % 10 == 0 else 204)


def _wait_for(live: LiveBroker, **counts: int) -> None:
    def reached() -> bool:
        told = httpx.get(f"{live.url}/job-status").raise_for_status().json()["orders"]["billing"]
        standing = {one["status"].lower(): one["count"] for one in told}
        return all(standing[status] == count for status, count in counts.items())

    wait_until(reached, SECONDS)


def _typed(line: str, folder: Path) -> str:
    """The prompt, the line, and what a terminal shows when it is run."""
    return f"\x1b[32m$\x1b[0m \x1b[1m{line}\x1b[0m\n{_last_frames(_in_terminal(line, folder))}".rstrip()


def _in_terminal(line: str, folder: Path) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**plain_environment(), "TERM": "xterm-256color"}
    shell = subprocess.Popen(
        ["bash", "-e", "-c", f"{PROGRAMS}\n{line}"],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    shown = bytearray()
    with suppress(OSError):  # what a terminal says when nobody has it open any more
        while chunk := os.read(ours, 4096):
            shown += chunk
    os.close(ours)
    assert shell.wait(SECONDS) == 0, shown.decode()
    return shown.decode()


def _last_frames(shown: str) -> str:
    """Lines that were drawn over are left out, and moves of the cursor."""
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in shown.split("\n")]
    return re.sub(r"\x1b\[[?0-9;]*[A-LN-Za-ln-z]", "", "\n".join(lines)).rstrip()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        PICTURE.write_text(draw(record(Path(place))))
