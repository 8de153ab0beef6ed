"""Metrics as Prometheus knows them, made of what was asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from broker.domain.exposition import Family, Kind

LABELS = ("channel", "consumer")
Row = Mapping[str, Any]
Rows = Sequence[Row]
_KINDS: dict[Kind, Any] = {Kind.GAUGE: GaugeMetricFamily, Kind.COUNTER: CounterMetricFamily}


def gauge(name: str, about: str, rows: Rows, value_of: Callable[[Row], float | None]) -> Metric:
    """A value for each consumer; what is not known is not shown."""
    family = GaugeMetricFamily(name, about, labels=LABELS)
    for row in rows:
        value = value_of(row)
        if value is not None:
            family.add_metric([row["channelId"], row["consumerId"]], value)
    return family


def metric_of(family: Family) -> Metric:
    """A family that is told elsewhere too."""
    made: Metric = _KINDS[family.kind](family.name, family.about, labels=family.labels)
    for sample in family.samples:
        made.add_metric(sample.labels, sample.value)  # type: ignore[attr-defined]
    return made


def single(name: str, about: str, value: float) -> Metric:
    """A value of the whole broker."""
    return GaugeMetricFamily(name, about, value=value)
