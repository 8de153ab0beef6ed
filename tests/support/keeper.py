"""`python -m tests.support.keeper URL TEXT NUMBER`: a checkpoint in a process of its own, which stops itself (SIGSTOP)
before its first, second... statement that contains the text; woken up, it goes on and says how it ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import event

from broker.dlq.checkpointer import Checkpointer
from broker.store import mysql
from tests.support.brokers import clean_environment, make_broker, wait_until

READY, IDLE_SECONDS = "stops", 2


class Keeper:
    """Such a process, as a test sees it."""

    def __init__(self, url: str, text: str, number: int) -> None:
        command = [sys.executable, "-m", "tests.support.keeper", url, text, str(number)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment())
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == READY
        wait_until(self._is_stopped, 10)

    def wake(self) -> str:
        """Let it go on; gives how it ended."""
        self.process.send_signal(signal.SIGCONT)
        return self.process.communicate(timeout=60)[0].strip()

    def kill(self) -> None:
        """It is gone at once."""
        self.process.kill()
        self.process.communicate(timeout=60)

    def _is_stopped(self) -> bool:
        return Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def main(url: str, text: str, number: str) -> None:
    """Reads no settings but the database's address."""
    mysql.IDLE_SECONDS = IDLE_SECONDS
    broker = make_broker(url, upgrade=False)
    seen: list[str] = []

    @event.listens_for(broker.parts.database.engine, "before_cursor_execute")
    def stop(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        seen.extend([statement] if text in statement else [])
        if text in statement and len(seen) == int(number):
            sys.stdout.write(f"{READY}\n")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGSTOP)

    sys.stdout.write(Checkpointer(broker.parts).run(force=True).outcome.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
