"""Figures about the dead: how many, of how many there may be, and why they died."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from broker.operations.dlq_status import DeadStanding, Health, read_health, read_status
from broker.operations.parts import Parts
from broker.store import dead_breakdown as store
from broker.store.dead_breakdown import Group

EXAMINED, LEAST_EACH = 10_000, 10
UNKNOWN = "unknown"
Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of the dead of some consumers, and whether their count is kept up to date."""

    standings: Sequence[DeadStanding]
    groups: Sequence[Group]
    processor_runs: bool
    retry_interval: float


def read_statistics(parts: Parts, channel_id: str | None, consumer_id: str | None) -> Statistics:
    """The newest dead of all consumers, or those asked for; each has an equal share of what is looked at."""
    standings = read_status(parts, channel_id, consumer_id)
    keys = [one.place.key for one in standings if one.count.dead]
    most = max(LEAST_EACH, EXAMINED // max(1, len(keys)))
    groups = parts.database.read("group the dead", lambda c: store.groups(c, keys, most))
    return Statistics(standings, groups, _runs(parts, read_health(parts)), parts.settings.retry_interval)


def show_statistics(found: Statistics) -> dict[str, object]:
    """The names are those of seed 001."""
    size, limits = sum(one.count.dead for one in found.standings), [one.max_size for one in found.standings]
    most = sum(limits) if all(limits) else 0
    return {
        "queue_size": size,
        "max_size": most,
        "utilization_percent": round(100 * size / most, 2) if most else None,
        "examined": sum(one.count for one in found.groups),
        "status_breakdown": _by((one.reason, one.count) for one in found.groups),
        "error_categories": _by((one.category, one.count) for one in found.groups),
        "retry_policies": _by((one.policy, one.count) for one in found.groups),
        "lifetime_stats": _lifetime(found.standings),
        "is_processor_running": found.processor_runs,
        "retry_interval_seconds": found.retry_interval,
    }


def _runs(parts: Parts, health: Health) -> bool:
    """Whether a checkpoint came lately, from whichever instance."""
    allowed = timedelta(seconds=2 * parts.settings.dlq_summary_interval + parts.settings.dlq_settle)
    return health.last_run is not None and health.read_at - health.last_run.ran_at < allowed


def _by(counts: Iterable[tuple[str | None, int]]) -> Counts:
    found: Counts = {}
    for name, count in counts:
        found[name or UNKNOWN] = found.get(name or UNKNOWN, 0) + count
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _lifetime(standings: Sequence[DeadStanding]) -> Counts:
    totals = [one.count.totals for one in standings]
    return {
        "enqueued_total": sum(one.died for one in totals),
        "manually_retried": sum(one.requeued for one in totals),
        "deleted": sum(one.deleted for one in totals),
        "archived": sum(one.archived for one in totals),
        "moved": sum(one.moved for one in totals),
    }
