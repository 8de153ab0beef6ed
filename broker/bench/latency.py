"""`broker bench latency`: how long a published message takes to its target while the engine has little to do.

Each message is published by the real operation in a process of its own, at a steady pace. Its time runs from the moment
after the commit to its arrival at the sink, by the clock of this machine; the broker's answer to the publisher comes
after the commit too, so a delivery can even be earlier than that and counts as 0.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from broker.bench.client import BenchFailed
from broker.bench.deliver_engine import warm_up, working
from broker.bench.deliver_place import Ground, Target, prepared
from broker.bench.figures import Figure, quantile
from broker.bench.latency_publisher import Pace, publish
from broker.bench.processes import cpu_seconds
from broker.bench.sink import MESSAGE_ID
from broker.config import Settings

ARRIVAL_SECONDS = 20.0
LOOK_EVERY = 0.05
STEPS = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """How many messages a second, for how long, after so many seconds of rest."""

    rate: int = 100
    seconds: float = 10.0
    idle_seconds: float = 5.0
    workers: int = 2
    payload_bytes: int = 490

    @property
    def messages(self) -> int:
        """All of them."""
        return max(1, round(self.rate * self.seconds))


@dataclass(frozen=True, slots=True)
class Result:
    """What was asked for, what was measured, and what the engine cost at rest: shares of one core."""

    plan: Plan
    seconds: list[float]
    rate: float
    duplicates: int
    idle_engine: float
    idle_database: float | None

    def as_json(self) -> dict[str, object]:
        """For scripts."""
        ordered = [round(1000 * one, 2) for one in sorted(self.seconds)]
        return {
            "plan": asdict(self.plan),
            "messages": len(ordered),
            "messagesPerSecond": round(self.rate, 1),
            "p50Ms": ordered[len(ordered) // 2],
            "p99Ms": ordered[int(len(ordered) * 0.99)],
            "maxMs": ordered[-1],
            "duplicates": self.duplicates,
            "idleEngineShare": round(self.idle_engine, 4),
            "idleDatabaseShare": None if self.idle_database is None else round(self.idle_database, 4),
        }

    def figures(self) -> list[Figure]:
        """How late messages arrive; there is no bare limit to set beside that."""
        return [
            Figure("latency", f"publish to arrival, {name}", "ms", 1000 * quantile(self.seconds, share))
            for name, share in (("p50", 0.5), ("p99", 0.99))
        ]


def run(settings: Settings, plan: Plan, advance: Callable[[], None]) -> Result:
    """Measure on a scratch database of the configured server; `advance` is told of each finished step."""
    with prepared(settings, 1, plan.payload_bytes, Target(header=MESSAGE_ID)) as ground:
        with working(ground.settings, plan.workers) as pid:
            warm_up(ground, pid, ARRIVAL_SECONDS)
            ground.filler.close()
            advance()
            idle = _at_rest(ground, pid, plan.idle_seconds)
            advance()
            committed = publish(ground.settings, Pace(plan.rate, plan.messages, plan.payload_bytes))
            arrived, duplicates = _arrivals(ground, len(committed))
            advance()
        return Result(plan, _differences(committed, arrived), _rate(committed), duplicates, *idle)


def _at_rest(ground: Ground, pid: int, seconds: float) -> tuple[float, float | None]:
    """The engine's and the database's share of a core while nothing is published."""
    server = ground.place.server_pid
    before = (cpu_seconds(pid) or 0.0, cpu_seconds(server))
    time.sleep(seconds)
    after = (cpu_seconds(pid) or 0.0, cpu_seconds(server))
    database = None if before[1] is None or after[1] is None else (after[1] - before[1]) / seconds
    return (after[0] - before[0]) / seconds, 0.0 if ground.place.is_sqlite else database


def _arrivals(ground: Ground, count: int) -> tuple[dict[str, float], int]:
    """The first arrival of each message."""
    ends = time.monotonic() + ARRIVAL_SECONDS
    while ground.sink.received < count and time.monotonic() < ends:
        time.sleep(LOOK_EVERY)
    report = ground.sink.take()
    pairs = zip(report.ids, report.times, strict=True)
    return {one.decode(): moment for one, moment in sorted(pairs, key=_time, reverse=True)}, report.duplicates


def _time(pair: tuple[bytes, float]) -> float:
    return pair[1]


def _differences(committed: dict[str, float], arrived: dict[str, float]) -> list[float]:
    lost = len(committed.keys() - arrived.keys())
    if lost:
        raise BenchFailed(f"{lost} of {len(committed)} messages did not arrive within {ARRIVAL_SECONDS:g} s")
    return [max(0.0, arrived[one] - moment) for one, moment in committed.items()]


def _rate(committed: dict[str, float]) -> float:
    """The pace that was really kept."""
    moments = sorted(committed.values())
    return (len(moments) - 1) / (moments[-1] - moments[0]) if len(moments) > 1 else 0.0
