"""`broker bench checkpoint`: counting the dead, the new ones and all of them, beside the bare statements.

In each round some jobs die and a checkpoint counts them; as many die again and the bare statements count those. Then
the summary is emptied and a checkpoint counts all the dead in steps, beside the full GROUP BY: what asking would cost
without a summary.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import median

from broker.bench import dlq_acts
from broker.bench.checkpoint_bare import count_and_update
from broker.bench.client import BenchFailed
from broker.bench.dlq_lots import AT_ONCE
from broker.bench.dlq_place import Ground, prepared
from broker.bench.figures import Figure, in_ms
from broker.config import Settings
from broker.dlq.checkpointer import Checkpointer
from broker.store.engine import Connection


@dataclass(frozen=True, slots=True)
class Plan:
    """How many dead, and in each round so many new deaths."""

    dead: int = 100_000
    deaths: int = 10_000
    rounds: int = 5


@dataclass(slots=True)
class Side:
    """Seconds of each round: of counting the new dead, and of counting all."""

    new: list[float] = field(default_factory=list)
    all: list[float] = field(default_factory=list)

    def show(self, dead: int) -> dict[str, object]:
        """Milliseconds, and rows a second."""
        rates = [round(dead / one) for one in self.all]
        return {"checkpointMs": in_ms(self.new), "bootstrapRowsPerSecond": {"median": _mid(rates), "rounds": rates}}


@dataclass(slots=True)
class Result:
    """What was asked for and what was measured; a bootstrap takes so many steps."""

    plan: Plan
    product: Side = field(default_factory=Side)
    bare: Side = field(default_factory=Side)
    steps: int = 0

    def as_json(self) -> dict[str, object]:
        """For scripts."""
        return {
            "plan": asdict(self.plan),
            "product": self.product.show(self.plan.dead),
            "bare": self.bare.show(self.plan.dead),
            "bootstrapSteps": self.steps,
            "figures": [figure.show() for figure in self.figures()],
        }

    def figures(self) -> list[Figure]:
        """Medians of the rounds."""
        new = (1000 * median(self.product.new), 1000 * median(self.bare.new))
        rates = (self.plan.dead / median(self.product.all), self.plan.dead / median(self.bare.all))
        return [
            Figure.of_times("checkpoint", f"{self.plan.deaths} new of {self.plan.dead} dead", *new),
            Figure.of_rates("checkpoint", "bootstrap of all dead", "rows/s", *rates),
        ]


def run(settings: Settings, plan: Plan, advance: Callable[[], None]) -> Result:
    """Measure on a scratch database of the configured server; `advance` is told of each finished step."""
    result = Result(plan)
    with prepared(settings) as ground:
        ground.fill(plan.dead, advance)
        Checkpointer(ground.parts).run(force=True)
        for number in range(plan.rounds):
            _round(ground, result, bare_first=number % 2 == 0)
            advance()
        ground.require_exact()
    return result


def steps(plan: Plan) -> int:
    """How many steps `run` will tell of."""
    return -(-plan.dead // AT_ONCE) + plan.rounds


def _round(ground: Ground, result: Result, bare_first: bool) -> None:
    deaths = result.plan.deaths
    sides = [
        lambda: result.product.new.append(dlq_acts.checkpoint(ground, deaths)),
        lambda: result.bare.new.append(dlq_acts.counting(ground, deaths, lambda: count_and_update(ground))),
        lambda: result.product.all.append(_bootstrap(ground, result)),
        lambda: result.bare.all.append(dlq_acts.group_by(ground)),
    ]
    for at in (1, 0, 3, 2) if bare_first else (0, 1, 2, 3):
        sides[at]()


def _bootstrap(ground: Ground, result: Result) -> float:
    """Seconds of counting all, into an empty summary."""
    ground.parts.database.write("empty the summary", _empty)
    begun = time.perf_counter()
    found = Checkpointer(ground.parts).run(force=True)
    seconds = time.perf_counter() - begun
    if found.counted != result.plan.dead:
        raise BenchFailed(f"the first checkpoint counted {found.counted} of {result.plan.dead} dead")
    result.steps = found.steps
    return seconds


def _empty(connection: Connection) -> None:
    connection.exec_driver_sql("DELETE FROM dlq_summary")


def _mid(rates: list[int]) -> int:
    return round(median(rates))
