"""`python -m tests.support.bulk_worker URL ID`: works on a bulk operation in a process of its own until it is killed;
says so after each chunk, and waits a moment, so that there is time to kill it."""

import subprocess
import sys
import time

from broker.operations import bulk
from tests.support.brokers import clean_environment, make_broker

CHUNK = 100


class BulkWorker:
    """Such a process, as a test sees it."""

    def __init__(self, url: str, operation_id: str) -> None:
        command = [sys.executable, "-m", "tests.support.bulk_worker", url, operation_id]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment())

    def kill_after(self, chunks: int) -> None:
        """It is gone at once when it has done so many."""
        assert self.process.stdout is not None
        for _ in range(chunks):
            assert self.process.stdout.readline()
        self.process.kill()
        self.process.communicate(timeout=60)


def main(url: str, operation_id: str) -> None:
    """A chunk, a word, a moment."""
    broker = make_broker(url, upgrade=False, dlq_chunk=CHUNK)

    def watch(done: int) -> None:
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()
        time.sleep(0.05)

    bulk.run(broker.parts, operation_id, 60, watch)


if __name__ == "__main__":
    main(*sys.argv[1:])
