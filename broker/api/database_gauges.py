"""What the database is asked at every scrape, so that all processes and instances say the same.

When it is away the last known values are shown and marked as stale.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prometheus_client.core import Metric

from broker.api.families import Rows, metric_of, single
from broker.api.last_known import LastKnown
from broker.api.queue_gauge import queue_families, show_queue
from broker.domain.errors import Unavailable
from broker.domain.times import parse_time
from broker.operations.dlq_measures import found_at, measures
from broker.operations.dlq_status import read_status
from broker.operations.parts import Parts
from broker.operations.queue_status import read_queues
from broker.operations.show_dlq import show_standing


@dataclass(frozen=True, slots=True)
class Known:
    """What is known now: nothing, when nothing was ever found; and how old it is."""

    found: Mapping[str, Any]
    stale: bool
    age: float

    @property
    def consumers(self) -> Rows:
        """Every consumer that there is."""
        rows: Rows = self.found.get("consumers", [])
        return rows


class DatabaseGauges:
    """Those of one instance."""

    def __init__(self, parts: Parts, last_known: LastKnown) -> None:
        self._parts, self._last_known = parts, last_known

    def ask(self) -> Known:
        """All that is known."""
        now = self._parts.clock.now()
        try:
            found, stale = self._read(now), False
            self._last_known.keep(found)
        except Unavailable:
            found, stale = self._last_known.recall() or {}, True
        age = (now - parse_time("readAt", found["readAt"])).total_seconds() if found else 0.0
        return Known(found, stale, max(0.0, age))

    def families(self, known: Known) -> Iterator[Metric]:
        """It as metrics; whether it is stale; and how long ago it was found out."""
        interval = self._parts.settings.dlq_summary_interval
        yield single("broker_dlq_checkpoint_interval_seconds", "Time between two checkpoints, by setting", interval)
        yield from map(metric_of, measures(known.found, known.age, known.stale))
        if known.found:
            yield from queue_families(known.consumers, known.age)

    def _read(self, now: datetime) -> dict[str, Any]:
        dead = read_status(self._parts)
        queues = read_queues(self._parts, [one.place for one in dead])
        rows = [{**show_standing(one), **show_queue(queue)} for one, queue in zip(dead, queues, strict=True)]
        return found_at(self._parts, now, rows)
