"""The figures of the delivery bench: two sides, the broker and the bare limit, over all rounds."""

from collections import Counter
from dataclasses import dataclass, field

from broker.domain.states import JobStatus


@dataclass(frozen=True, slots=True)
class Phase:
    """One side's turn in one round. No database CPU: the server cannot be seen from here."""

    jobs: int
    seconds: float
    engine_cpu: float
    database_cpu: float | None
    sink_cpu: float
    duplicates: int
    states: dict[int, int]
    most_at_once: int = 0
    peak_megabytes: float = 0.0

    @property
    def jobs_per_cpu_second(self) -> float | None:
        """Of engine and database together."""
        return None if self.database_cpu is None else self.jobs / (self.engine_cpu + self.database_cpu)


@dataclass(slots=True)
class Side:
    """All turns of one side."""

    what: str
    phases: list[Phase] = field(default_factory=list)

    @property
    def total(self) -> Phase:
        """All turns as one."""
        phases = self.phases
        states: Counter[int] = sum((Counter(phase.states) for phase in phases), Counter())
        database = [phase.database_cpu for phase in phases if phase.database_cpu is not None]
        return Phase(
            jobs=sum(phase.jobs for phase in phases),
            seconds=sum(phase.seconds for phase in phases),
            engine_cpu=sum(phase.engine_cpu for phase in phases),
            database_cpu=sum(database) if len(database) == len(phases) else None,
            sink_cpu=sum(phase.sink_cpu for phase in phases),
            duplicates=sum(phase.duplicates for phase in phases),
            states=dict(states),
            most_at_once=max(phase.most_at_once for phase in phases),
            peak_megabytes=max(phase.peak_megabytes for phase in phases),
        )

    def show(self) -> dict[str, object]:
        """Rates, and CPU seconds per 1,000 jobs."""
        total = self.total
        thousands = total.jobs / 1000
        return {
            "what": self.what,
            "jobs": total.jobs,
            "jobsPerSecond": round(total.jobs / total.seconds),
            "jobsPerCpuSecond": _rounded(total.jobs_per_cpu_second, 0),
            "engineCpuPer1000": round(total.engine_cpu / thousands, 4),
            "databaseCpuPer1000": None if total.database_cpu is None else round(total.database_cpu / thousands, 4),
            "sinkCpuPer1000": round(total.sink_cpu / thousands, 4),
            "duplicates": total.duplicates,
            "peakMemoryMb": _rounded(total.peak_megabytes or None, 1),
            "mostAtOnce": total.most_at_once or None,
            "states": {JobStatus(status).name: count for status, count in sorted(total.states.items())},
        }


@dataclass(frozen=True, slots=True)
class Bound:
    """What a target that answers late allows at most: every connection busy all the time."""

    connections: int
    target_ms: float

    def show(self, jobs_per_second: float) -> dict[str, object]:
        """The bound and how near to it the broker came."""
        most = self.connections * 1000 / self.target_ms
        return {
            "connections": self.connections,
            "targetMs": self.target_ms,
            "jobsPerSecond": round(most),
            "ratio": round(jobs_per_second / most, 3),
        }


def ratios(product: Side, bare: Side) -> dict[str, object]:
    """The broker's figures by the bare ones: of all rounds together, and per CPU second of each round."""
    mine, limit = product.total, bare.total
    pairs = zip(product.phases, bare.phases, strict=True)
    return {
        "perCpuSecond": _by(mine.jobs_per_cpu_second, limit.jobs_per_cpu_second),
        "perSecond": _by(mine.jobs / mine.seconds, limit.jobs / limit.seconds),
        "perCpuSecondOfRounds": [_by(one.jobs_per_cpu_second, other.jobs_per_cpu_second) for one, other in pairs],
    }


def _by(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else round(one / other, 3)


def _rounded(value: float | None, digits: int) -> float | int | None:
    return None if value is None else round(value, digits or None)
