"""Metrics as Prometheus knows them, made of what was asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

LABELS = ("channel", "consumer")
Row = Mapping[str, Any]
Rows = Sequence[Row]


def gauge(name: str, about: str, rows: Rows, value_of: Callable[[Row], float | None]) -> Metric:
    """A value for each consumer; what is not known is not shown."""
    family = GaugeMetricFamily(name, about, labels=LABELS)
    for row in rows:
        value = value_of(row)
        if value is not None:
            family.add_metric([row["channelId"], row["consumerId"]], value)
    return family


def counter(name: str, about: str, rows: Rows, value_of: Callable[[Row], float]) -> Metric:
    """A total for each consumer."""
    family = CounterMetricFamily(name, about, labels=LABELS)
    for row in rows:
        family.add_metric([row["channelId"], row["consumerId"]], value_of(row))
    return family


def single(name: str, about: str, value: float) -> Metric:
    """A value of the whole broker."""
    return GaugeMetricFamily(name, about, value=value)
