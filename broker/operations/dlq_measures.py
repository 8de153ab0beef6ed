"""The dead as measures for Prometheus: the same families in /metrics, in /dlq-status and on the command line."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from broker.domain.exposition import Family, Kind, Sample, exposition
from broker.domain.times import parse_time
from broker.operations.dlq_status import Health, read_health, read_status
from broker.operations.parts import Parts
from broker.operations.show_dlq import show_standing

LABELS = ("channel", "consumer")
Json = dict[str, Any]
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
    ("broker_dlq_checked_age_seconds", "How far the summary's checkpoint lies back", "lastCheckedAt"),
    ("broker_dlq_audit_age_seconds", "How long ago the last audit was", "auditedAt"),
)
_TOTALS = {"died": "there have been", "requeued": "were requeued", "deleted": "were deleted",
           "archived": "were archived", "moved": "were moved"}  # fmt: skip


def status_text(parts: Parts, channel_id: str | None = None, consumer_id: str | None = None) -> str:
    """What a scrape of the dead alone answers."""
    now = parts.clock.now()
    rows = [show_standing(one) for one in read_status(parts, channel_id, consumer_id)]
    return exposition(measures(found_at(parts, now, rows), age=0.0, stale=False))


def found_at(parts: Parts, now: datetime, rows: Rows) -> Json:
    """All that the families are made of, as JSON, so that it can be kept for when nobody can be asked."""
    health = read_health(parts)
    return {"readAt": now.isoformat(), "asOf": health.read_at.isoformat(), "consumers": rows, **_shown(health)}


def measures(found: Mapping[str, Any], age: float, stale: bool) -> Iterator[Family]:
    """Whether it is stale; how long ago it was found out; and all that is known. Unknown is never 0."""
    yield _single("broker_dlq_stale", "1 while the database cannot be asked, and old values are shown", int(stale))
    if not found:
        return
    yield _single("broker_dlq_value_age_seconds", "How old the values from the database are", age)
    yield from _of_consumers(found, age)
    yield _single("broker_dlq_lock_held", "1 while an instance counts the dead", found["lockHeld"])
    if found["checkpoint"] is not None:
        yield from _of_checkpoint(found["checkpoint"], parse_time("asOf", found["asOf"]), age)


def _shown(health: Health) -> Json:
    run = health.last_run
    shown = None if run is None else {"at": run.ran_at.isoformat(), "seconds": run.seconds, "counted": run.counted}
    return {"lockHeld": int(health.holder is not None), "checkpoint": shown}


def _of_consumers(found: Mapping[str, Any], age: float) -> Iterator[Family]:
    rows, as_of = found["consumers"], parse_time("asOf", found["asOf"])
    for name, about, key in _GAUGES:
        yield _family(name, about, rows, [row[key] for row in rows])
    for name, about, key in _AGES:
        yield _family(name, about, rows, [_age(as_of, row[key], age) for row in rows])
    for what, past in _TOTALS.items():
        about = f"Dead jobs that {past}, over the consumer's life"
        totals = [row["totals"][what] for row in rows]
        yield _family(f"broker_dlq_{what}_total", about, rows, totals, Kind.COUNTER)


def _of_checkpoint(run: Mapping[str, Any], as_of: datetime, age: float) -> Iterator[Family]:
    since = (as_of - parse_time("at", run["at"])).total_seconds() + age
    yield _single("broker_dlq_checkpoint_age_seconds", "Time since the last checkpoint", max(0.0, since))
    yield _single("broker_dlq_checkpoint_duration_seconds", "How long the last checkpoint took", run["seconds"])
    yield _single("broker_dlq_checkpoint_counted", "Newly dead that the last checkpoint counted", run["counted"])


def _age(as_of: datetime, moment: str | None, more: float) -> float | None:
    return None if moment is None else max(0.0, (as_of - parse_time("moment", moment)).total_seconds()) + more


def _family(name: str, about: str, rows: Rows, values: Sequence[float | None], kind: Kind = Kind.GAUGE) -> Family:
    """A sample for each consumer of which the value is known."""
    known = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
    samples = tuple(Sample((row["channelId"], row["consumerId"]), value) for row, value in known)
    return Family(name, about, samples, LABELS, kind)


def _single(name: str, about: str, value: float) -> Family:
    return Family(name, about, (Sample((), value),))
