"""`broker bench all`: every bench one after the other, in sizes that fit into a short wait, and all their figures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from broker.bench import checkpoint, deliver, dlq, latency, publish
from broker.bench.figures import Figure
from broker.config import Settings

PAYLOAD_BYTES = 490


class Outcome(Protocol):
    """What every bench gives."""

    def as_json(self) -> dict[str, object]: ...

    def figures(self) -> list[Figure]: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """So many times the small sizes, and rounds of each."""

    scale: int = 1
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
    size, rounds = plan.scale, plan.rounds
    return [
        ("publish", publish, publish.Plan(1000 * size, 20, 1, PAYLOAD_BYTES, rounds)),
        ("deliver", deliver, deliver.Plan(4000 * size, PAYLOAD_BYTES, plan.workers, rounds=rounds)),
        ("latency", latency, latency.Plan(50, 5.0, 2.0, plan.workers, PAYLOAD_BYTES)),
        ("dlq", dlq, dlq.Plan(20_000 * size, rounds, 100, min(50_000, 2000 * size), 5000 * size, 3.0, 2.0)),
        ("checkpoint", checkpoint, checkpoint.Plan(20_000 * size, min(50_000, 2000 * size), rounds)),
    ]
