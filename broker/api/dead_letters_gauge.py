"""The dead for Prometheus: asked of the database at every scrape, so that all processes and instances say the same.

When the database is away the last known values are shown and marked as stale. Unknown is never 0.
"""

from collections.abc import Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from broker.api.last_known import LastKnown
from broker.domain.errors import Unavailable
from broker.domain.exposition import Family, Kind
from broker.operations.dlq_measures import measures, read_measures
from broker.operations.parts import Parts

_KINDS: dict[Kind, Any] = {Kind.GAUGE: GaugeMetricFamily, Kind.COUNTER: CounterMetricFamily}


class DeadLetterCollector(Collector):
    """The gauges of one instance."""

    def __init__(self, parts: Parts, last_known: LastKnown) -> None:
        self._parts, self._last_known = parts, last_known

    def collect(self) -> Iterator[Metric]:
        """All that is known; whether it is stale; and how long ago it was found out."""
        now = self._parts.clock.now()
        found, stale = self._read()
        yield from map(_metric, measures(found, now, stale))

    def _read(self) -> tuple[dict[str, Any] | None, bool]:
        """Fresh when the database answers, else what was known last."""
        try:
            found = read_measures(self._parts)
        except Unavailable:
            return self._last_known.recall(), True
        self._last_known.keep(found)
        return found, False


def _metric(family: Family) -> Metric:
    made: Metric = _KINDS[family.kind](family.name, family.about, labels=family.labels)
    for sample in family.samples:
        made.add_metric(sample.labels, sample.value)  # type: ignore[attr-defined]
    return made
