"""The processes of a live broker."""

from pathlib import Path

from tests.support.brokers import LiveBroker


def workers(live: LiveBroker) -> list[int]:
    """The serving processes: children of the supervisor."""
    pid = live.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
