"""Ends a private server and removes its folder when the tests are gone, even if they were killed.

The tests run this file as a program and hold the other end of its standard input: when that closes, they are
done. A server process is alive, or at least not yet reaped, for as long as its number is in the folder.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path


def pid_file(folder: Path) -> Path:
    """Where the number of the running server process is kept."""
    return folder / "server.pid"


def end_server(folder: Path) -> None:
    """Kill the server that still runs in the folder, if any."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
        os.kill(int(pid_file(folder).read_text()), signal.SIGKILL)


def remove(folder: Path, seconds: float = 10) -> None:
    """Remove the folder, again and again while a dying process still writes there."""
    deadline = time.monotonic() + seconds
    shutil.rmtree(folder, ignore_errors=True)
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Wait for the end of the tests, then clean up."""
    folder = Path(sys.argv[1])
    sys.stdin.buffer.read()
    end_server(folder)
    remove(folder)


if __name__ == "__main__":
    main()
