"""The dead for Prometheus: asked of the database at every scrape, so that all processes and instances say the same.

When the database is away the last known values are shown and marked as stale. Unknown is never 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from broker.api.last_known import LastKnown
from broker.domain.errors import Unavailable
from broker.domain.times import parse_time
from broker.operations.dlq_status import Health, read_health, read_status
from broker.operations.parts import Parts
from broker.operations.show_dlq import show_standing

LABELS = ("channel", "consumer")
Rows = Sequence[Mapping[str, Any]]
_GAUGES = (
    ("dead_job_count", "Number of dead jobs per consumer", "deadCount"),
    ("broker_dlq_checkpointed", "Dead jobs that a checkpoint has counted", "checkpointedCount"),
    ("broker_dlq_died_last_hour", "Jobs that died in about the last hour", "diedLastHour"),
    ("broker_dlq_max_size", "Dead jobs that a consumer may have, 0 for no limit", "maxSize"),
    ("broker_dlq_utilization_percent", "Dead jobs in percent of the limit", "utilizationPercent"),
    ("broker_dlq_drift", "Dead jobs that the summary has too many, by the last audit", "drift"),
)  # fmt: skip
_AGES = (
    ("broker_dlq_oldest_dead_seconds", "How long the longest dead has been dead", "oldestDeadAt"),
    ("broker_dlq_summary_age_seconds", "How far the summary's checkpoint lies back", "lastCheckedAt"),
    ("broker_dlq_audit_age_seconds", "How long ago the last audit was", "auditedAt"),
)


class DeadLetterCollector(Collector):
    """The gauges of one instance."""

    def __init__(self, parts: Parts, last_known: LastKnown) -> None:
        self._parts, self._last_known = parts, last_known

    def collect(self) -> Iterator[Metric]:
        """All that is known; whether it is stale; and how long ago it was found out."""
        now = self._parts.clock.now()
        try:
            found, stale = self._read(now), False
            self._last_known.keep(found)
        except Unavailable:
            found, stale = self._last_known.recall() or {}, True
        yield _single("broker_dlq_stale", "1 while the dead cannot be asked for, and old values are shown", int(stale))
        if found:
            age = (now - parse_time("readAt", found["readAt"])).total_seconds()
            yield _single("broker_dlq_value_age_seconds", "How old the values of the dead are", max(0.0, age))
            yield from _families(found, max(0.0, age))

    def _read(self, now: datetime) -> dict[str, Any]:
        rows = [show_standing(one) for one in read_status(self._parts)]
        health = read_health(self._parts)
        return {"readAt": now.isoformat(), "asOf": health.read_at.isoformat(), "consumers": rows, **_shown(health)}


def _shown(health: Health) -> dict[str, Any]:
    run = health.last_run
    shown = None if run is None else {"at": run.ran_at.isoformat(), "seconds": run.seconds, "counted": run.counted}
    return {"lockHeld": int(health.holder is not None), "checkpoint": shown}


def _families(found: Mapping[str, Any], age: float) -> Iterator[Metric]:
    rows, as_of = found["consumers"], parse_time("asOf", found["asOf"])
    for name, about, key in _GAUGES:
        yield _gauge(name, about, rows, {id(row): row[key] for row in rows})
    for name, about, key in _AGES:
        yield _gauge(name, about, rows, {id(row): _age(as_of, row[key], age) for row in rows})
    for what in ("died", "requeued", "deleted", "archived", "moved"):
        yield _counter(f"broker_dlq_{what}", f"Dead jobs that {_PAST[what]}, over the consumer's life", rows, what)
    yield _single("broker_dlq_lock_held", "1 while an instance counts the dead", found["lockHeld"])
    if found["checkpoint"] is not None:
        yield from _checkpoint(found["checkpoint"], as_of, age)


_PAST = {"died": "there have been", "requeued": "were requeued", "deleted": "were deleted", "archived": "were archived",
         "moved": "were moved"}  # fmt: skip


def _checkpoint(run: Mapping[str, Any], as_of: datetime, age: float) -> Iterator[Metric]:
    since = (as_of - parse_time("at", run["at"])).total_seconds() + age
    yield _single("broker_dlq_checkpoint_age_seconds", "Time since the last checkpoint", max(0.0, since))
    yield _single("broker_dlq_checkpoint_duration_seconds", "How long the last checkpoint took", run["seconds"])
    yield _single("broker_dlq_checkpoint_counted", "Newly dead that the last checkpoint counted", run["counted"])


def _age(as_of: datetime, moment: str | None, more: float) -> float | None:
    return None if moment is None else max(0.0, (as_of - parse_time("moment", moment)).total_seconds()) + more


def _gauge(name: str, about: str, rows: Rows, values: Mapping[int, float | None]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=LABELS)
    for row in rows:
        value = values[id(row)]
        if value is not None:
            family.add_metric([row["channelId"], row["consumerId"]], value)
    return family


def _counter(name: str, about: str, rows: Rows, what: str) -> Metric:
    family = CounterMetricFamily(name, about, labels=LABELS)
    for row in rows:
        family.add_metric([row["channelId"], row["consumerId"]], row["totals"][what])
    return family


def _single(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(name, about, value=value)
