"""`broker bench all`: every bench one after the other, in sizes that fit into a short wait, and all their figures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from broker.bench import checkpoint, deliver, dlq, latency, publish
from broker.bench.figures import Figure
from broker.config import Settings

PAYLOAD_BYTES, MOST_DEATHS = 490, 50_000


class Outcome(Protocol):
    """What every bench gives."""

    def as_json(self) -> dict[str, object]: ...

    def figures(self) -> list[Figure]: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """So many times the small sizes, and rounds of each."""

    scale: float = 1
    rounds: int = 2
    workers: int = 2


@dataclass(frozen=True, slots=True)
class Result:
    """Of every bench by its name."""

    outcomes: dict[str, Outcome]

    def as_json(self) -> dict[str, object]:
        """For scripts."""
        figures = [figure.show() for figure in self.figures()]
        return {"figures": figures, "benches": {name: one.as_json() for name, one in self.outcomes.items()}}

    def figures(self) -> list[Figure]:
        """All of them."""
        return [figure for one in self.outcomes.values() for figure in one.figures()]


def run(settings: Settings, plan: Plan, advance: Callable[[], None]) -> Result:
    """Measure on scratch databases of the configured server; `advance` is told of each finished step."""
    return Result({name: bench.run(settings, its_plan, advance) for name, bench, its_plan in _benches(plan)})


def steps(plan: Plan) -> int:
    """How many steps `run` will tell of."""
    return sum(bench.STEPS if bench is latency else bench.steps(its_plan) for _, bench, its_plan in _benches(plan))


def _benches(plan: Plan) -> list[tuple[str, Any, Any]]:
    def size(small: int) -> int:
        return round(small * plan.scale)

    rounds, deaths, wait = plan.rounds, min(MOST_DEATHS, size(2000)), min(1.0, plan.scale)
    return [
        ("publish", publish, publish.Plan(size(1000), 20, 1, PAYLOAD_BYTES, rounds)),
        ("deliver", deliver, deliver.Plan(size(4000), PAYLOAD_BYTES, plan.workers, rounds=rounds)),
        ("latency", latency, latency.Plan(50, 5 * wait, 2 * wait, plan.workers, PAYLOAD_BYTES)),
        ("dlq", dlq, dlq.Plan(size(20_000), rounds, 100, deaths, size(5000), 3 * wait, 2 * wait)),
        ("checkpoint", checkpoint, checkpoint.Plan(size(20_000), deaths, rounds)),
    ]
