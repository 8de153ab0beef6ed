"""One scrape as text: what the database says, and what the processes of this instance counted."""

from collections.abc import Iterable, Iterator

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from broker.api.database_gauges import DatabaseGauges
from broker.api.process_metrics import of_those_who_exist


def expose(gauges: DatabaseGauges, processes: Iterable[Metric]) -> bytes:
    """All metrics; those of a consumer as long as it exists."""
    return generate_latest(_Scrape(gauges, processes))


class _Scrape(Collector):
    """What is found when it is collected."""

    def __init__(self, gauges: DatabaseGauges, processes: Iterable[Metric]) -> None:
        self._gauges, self._processes = gauges, processes

    def collect(self) -> Iterator[Metric]:
        known = self._gauges.ask()
        yield from self._gauges.families(known)
        yield from of_those_who_exist(self._processes, known.consumers)
