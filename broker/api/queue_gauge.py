"""What waits and what is out, for Prometheus, as it was asked of the database."""

from collections.abc import Iterator
from typing import Any

from prometheus_client.core import Metric

from broker.api.families import Row, Rows, gauge
from broker.operations.queue_status import QueueStanding


def show_queue(queue: QueueStanding) -> dict[str, Any]:
    """A consumer's queue, so that it can be kept."""
    return {
        "queueDepth": queue.depth,
        "oldestDueSeconds": queue.oldest_due_seconds,
        "inflight": queue.inflight,
        "paused": int(queue.place.paused),
        "pushed": queue.place.pushed,
    }


def queue_families(rows: Rows, age: float) -> Iterator[Metric]:
    """Of what was found so many seconds ago; what was due then has been due for longer now."""

    def due(row: Row) -> float:
        seconds: float = row["oldestDueSeconds"]
        return seconds + age if seconds else 0.0

    yield gauge("broker_queue_depth", "Jobs that wait, due or not; counted up to a bound", rows,
                lambda row: int(row["queueDepth"]))  # fmt: skip
    yield gauge("broker_queue_oldest_due_seconds", "How long the longest due job has been due, 0 for none", rows, due)
    yield gauge("broker_inflight_jobs", "Jobs that are leased", rows, lambda row: int(row["inflight"]))
    yield gauge("broker_consumer_paused", "1 while the consumer or its channel is paused", rows,
                lambda row: int(row["paused"]))  # fmt: skip
