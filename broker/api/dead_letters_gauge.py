"""The dead for Prometheus, as they were asked of the database; unknown is never 0."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any

from prometheus_client.core import Metric

from broker.api.families import counter, gauge, single
from broker.domain.times import parse_time
from broker.operations.dlq_status import Health

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
    ("broker_dlq_checked_age_seconds", "How far the summary's checkpoint lies back", "lastCheckedAt"),
    ("broker_dlq_audit_age_seconds", "How long ago the last audit was", "auditedAt"),
)
_TOTALS = {"died": "there have been", "requeued": "were requeued", "deleted": "were deleted",
           "archived": "were archived", "moved": "were moved"}  # fmt: skip


def show_health(health: Health) -> dict[str, Any]:
    """The checkpointer's, so that it can be kept."""
    run = health.last_run
    shown = None if run is None else {"at": run.ran_at.isoformat(), "seconds": run.seconds, "counted": run.counted}
    return {"asOf": health.read_at.isoformat(), "lockHeld": int(health.holder is not None), "checkpoint": shown}


def dead_letter_families(found: Mapping[str, Any], age: float) -> Iterator[Metric]:
    """Of what was found so many seconds ago."""
    rows, as_of = found["consumers"], parse_time("asOf", found["asOf"])
    for name, about, key in _GAUGES:
        yield gauge(name, about, rows, itemgetter(key))
    for name, about, key in _AGES:
        yield gauge(name, about, rows, lambda row, key=key: _age(as_of, row[key], age))  # type: ignore[misc]
    for what, past in _TOTALS.items():
        about = f"Dead jobs that {past}, over the consumer's life"
        yield counter(f"broker_dlq_{what}", about, rows, lambda row, what=what: row["totals"][what])  # type: ignore[misc]
    yield single("broker_dlq_lock_held", "1 while an instance counts the dead", found["lockHeld"])
    if found["checkpoint"] is not None:
        yield from _checkpoint(found["checkpoint"], as_of, age)


def _checkpoint(run: Mapping[str, Any], as_of: datetime, age: float) -> Iterator[Metric]:
    since = _age(as_of, run["at"], age) or 0.0
    yield single("broker_dlq_checkpoint_age_seconds", "Time since the last checkpoint", since)
    yield single("broker_dlq_checkpoint_duration_seconds", "How long the last checkpoint took", run["seconds"])
    yield single("broker_dlq_checkpoint_counted", "Newly dead that the last checkpoint counted", run["counted"])


def _age(as_of: datetime, moment: str | None, more: float) -> float | None:
    return None if moment is None else max(0.0, (as_of - parse_time("moment", moment)).total_seconds()) + more
