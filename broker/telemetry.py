"""The engine's measures for Prometheus; written to the folder that all processes of one instance share."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from broker.delivery.telemetry import Landed
from broker.operations.tally import Happened

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
BREAKERS, ENGINES = "broker_breaker_open", "broker_engine_processes"


class EngineMetrics:
    """Told in batches, so that a job costs next to nothing here."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"broker_{name}_total", about, labels, registry=registry)

        self._seconds = Histogram(
            "broker_delivery_seconds", "How long deliveries took", ["outcome"], buckets=BOUNDS, registry=registry
        )
        self._deliveries = counter(
            "deliveries", "Deliveries that ended, by what came of them", "channel", "consumer", "outcome"
        )
        self._breakers = Gauge(BREAKERS, "1 while the breaker is not closed", ["channel", "consumer"],
                               multiprocess_mode="livemax", registry=registry)  # fmt: skip
        Gauge(ENGINES, "Processes that deliver", multiprocess_mode="livesum", registry=registry).set(1)
        self._failures = counter("failures", "Failures by what became of the job", "result")
        self._late = counter("late_answers", "Answers that came when the lease was lost")
        self._given_back = counter("leases_lost_jobs", "Jobs that wait again because their lease was lost")
        self._opened = counter("breaker_opened", "Breakers that opened")

    def delivered(self, landed: Landed) -> None:
        by_outcome: dict[str, list[float]] = {}
        for (channel, consumer, outcome), seconds in landed.items():
            self._deliveries.labels(channel, consumer, outcome).inc(len(seconds))
            by_outcome.setdefault(outcome, []).extend(seconds)
        for outcome, times in by_outcome.items():
            self._observe(outcome, times)

    def _observe(self, outcome: str, seconds: Sequence[float]) -> None:
        child = self._seconds.labels(outcome)
        counts = [0] * (len(BOUNDS) + 1)
        for one in seconds:
            counts[bisect_left(BOUNDS, one)] += 1
        child._sum.inc(sum(seconds))
        for bucket, count in zip(child._buckets, counts, strict=True):
            if count:
                bucket.inc(count)

    def finished(self, results: Mapping[str, int]) -> None:
        for result, count in results.items():
            self._failures.labels(result).inc(count)

    def late(self, count: int) -> None:
        self._late.inc(count)

    def given_back(self, count: int) -> None:
        self._given_back.inc(count)

    def opened(self, count: int) -> None:
        self._opened.inc(count)

    def breaker(self, channel_id: str, consumer_id: str, is_open: bool) -> None:
        self._breakers.labels(channel_id, consumer_id).set(int(is_open))


class DeadLetterCounters:
    """What was published, and what happened to the dead, by reason or by the way it was done."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counters = {
            what: Counter(f"broker_jobs_{what.value}_total", about, ["reason"], registry=registry)
            for what, about in _ABOUT.items()
        }
        self._published = Counter(
            "broker_messages_published_total", "Messages that were published", ["channel"], registry=registry
        )

    def count(self, what: Happened, reason: str, number: int) -> None:
        self._counters[what].labels(reason).inc(number)

    def published(self, channel_id: str, number: int) -> None:
        self._published.labels(channel_id).inc(number)


_ABOUT = {
    Happened.DIED: "Jobs that died, by reason, whether kept, moved or discarded",
    Happened.DISCARDED: "Dying jobs that were discarded, by reason of death",
    Happened.REQUEUED: "Dead jobs that wait again, by the way it was done",
    Happened.DELETED: "Dead jobs that were deleted, by the way it was done",
    Happened.ARCHIVED: "Dead jobs that were archived, by the way it was done",
    Happened.MOVED: "Dead jobs that were moved to a dead channel by hand, by the way it was done",
}


def engine_metrics() -> EngineMetrics:
    """Those of this process."""
    return EngineMetrics(CollectorRegistry())


def dead_letter_counters() -> DeadLetterCounters:
    """Those of this process."""
    return DeadLetterCounters(CollectorRegistry())
