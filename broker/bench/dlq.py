"""`broker bench dlq`: what the dead cost, without any and with many, on two databases of the same server, in turns.

The one has none, the other has so many. Both meet the same noise: a round asks the one, then the other. Deaths that a
checkpoint is to count, and rows that are to be purged or requeued, are put in just before and are gone afterwards.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from statistics import median

from broker.bench import dlq_acts, dlq_polling
from broker.bench.dlq_figures import Bar, Side, bars, ratio
from broker.bench.dlq_lots import AT_ONCE
from broker.bench.dlq_place import Ground, prepared
from broker.bench.figures import Figure, quantile
from broker.bench.serving import serving
from broker.config import Settings
from broker.dlq.auditor import Auditor
from broker.dlq.checkpointer import Checkpointer
from broker.domain.dead_selection import DeadAct

WARM = 20
CALM_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How many dead; in each round so many questions, new deaths, and rows to act on; at most so long a purge, and
    so long a calm before it, which tells what the machine's other work does to the answers."""

    dead: int = 100_000
    rounds: int = 5
    requests: int = 300
    deaths: int = 10_000
    rows: int = 50_000
    purge_seconds: float = 30.0
    calm_seconds: float = 10.0


@dataclass(slots=True)
class Result:
    """What was asked for and what was measured."""

    plan: Plan
    without: Side = field(default_factory=Side)
    with_dead: Side = field(default_factory=Side)
    polls: list[float] = field(default_factory=list)
    calm_polls: list[float] = field(default_factory=list)
    purge_rate: float = 0.0
    fill_seconds: float = 0.0
    first_checkpoint_seconds: float = 0.0
    audit_seconds: float = 0.0

    def bars(self) -> list[Bar]:
        """Every one, met or not."""
        return bars(self.without.show(), self.with_dead.show(), _ms(self.polls, 0.99))

    def as_json(self) -> dict[str, object]:
        """For scripts."""
        without, with_dead = self.without.show(), self.with_dead.show()
        names = ("statusP50Ms", "statusP99Ms", "checkpointMs", "groupByMs")
        return {
            "plan": asdict(self.plan),
            "without": without,
            "withDead": with_dead,
            "ratio": {name: ratio(without, with_dead, name) for name in names},
            "beforePurge": _polled(self.calm_polls),
            "duringPurge": {**_polled(self.polls), "rowsPerSecond": round(self.purge_rate)},
            "preparing": {"fillSeconds": round(self.fill_seconds, 1), "auditSeconds": round(self.audit_seconds, 1),
                          "firstCheckpointSeconds": round(self.first_checkpoint_seconds, 1)},
            "bars": [asdict(bar) for bar in self.bars()],
        }  # fmt: skip

    def figures(self) -> list[Figure]:
        """What asking takes, and bulk work beside its bare limit."""
        return [
            Figure("dlq", "/dlq-status with dead, p99", "ms", self.with_dead.status_p99_ms),
            *(
                Figure.of_rates("dlq", name, "rows/s", *(median(side) for side in zip(*rounds, strict=True)))
                for name, rounds in (("purge", self.with_dead.purge), ("requeue", self.with_dead.requeue))
            ),
        ]


def run(settings: Settings, plan: Plan, advance: Callable[[], None]) -> Result:
    """Measure on scratch databases of the configured server; `advance` is told of each finished step."""
    with prepared(settings) as without, prepared(settings) as with_dead:
        return _Bench(plan, without, with_dead, advance).measure()


def steps(plan: Plan) -> int:
    """How many steps `run` will tell of."""
    return -(-plan.dead // AT_ONCE) + 2 + plan.rounds * 4 + 1


class _Bench:
    def __init__(self, plan: Plan, without: Ground, with_dead: Ground, advance: Callable[[], None]) -> None:
        self.plan, self.advance, self.result = plan, advance, Result(plan)
        self.without, self.with_dead = without, with_dead
        self.sides = ((without, self.result.without), (with_dead, self.result.with_dead))

    def measure(self) -> Result:
        self._prepare()
        self._status()
        for number in range(self.plan.rounds):
            for ground, side in self.sides:
                self._round(ground, side, bare_first=number % 2 == 0)
                self.advance()
        for ground, _ in self.sides:
            ground.require_exact()
        self._purge()
        return self.result

    def _prepare(self) -> None:
        """The first checkpoint counts all; the audit proves it, and is not due again for an hour."""
        result, ground = self.result, self.with_dead
        result.fill_seconds = _timed(lambda: ground.fill(self.plan.dead, self.advance))
        result.first_checkpoint_seconds = _timed(lambda: Checkpointer(ground.parts).run(force=True))
        self.advance()
        Auditor(self.without.parts).run()
        result.audit_seconds = _timed(Auditor(ground.parts).run)
        ground.require_exact()
        self.advance()

    def _status(self) -> None:
        with ExitStack() as stack:
            for ground, _ in self.sides:
                stack.enter_context(serving(ground.settings))
                dlq_polling.ask(_address(ground), WARM)
            time.sleep(CALM_SECONDS)
            for _ in range(self.plan.rounds):
                for ground, side in self.sides:
                    side.status.append(dlq_polling.ask(_address(ground), self.plan.requests))
                    self.advance()

    def _round(self, ground: Ground, side: Side, bare_first: bool) -> None:
        side.checkpoint.append(dlq_acts.checkpoint(ground, self.plan.deaths))
        side.purge.append(dlq_acts.act(ground, DeadAct.DELETE, self.plan.rows, bare_first))
        side.requeue.append(dlq_acts.act(ground, DeadAct.REQUEUE, self.plan.rows, bare_first))
        side.group_by.append(dlq_acts.group_by(ground))

    def _purge(self) -> None:
        """Of the crowded consumer, from its oldest dead on, while somebody asks ten times a second."""
        ground = self.with_dead
        with serving(ground.settings):
            dlq_polling.ask(_address(ground), WARM)
            time.sleep(CALM_SECONDS)
            with dlq_polling.polling(_address(ground)) as calm:
                time.sleep(self.plan.calm_seconds)
            with dlq_polling.polling(_address(ground)) as polls:
                self.result.purge_rate = dlq_acts.purge_for(ground, self.plan.purge_seconds)
        self.result.calm_polls, self.result.polls = calm.seconds, polls.seconds
        ground.require_exact()
        self.advance()


def _polled(seconds: list[float]) -> dict[str, object]:
    return {"polls": len(seconds), "statusP50Ms": _ms(seconds, 0.5), "statusP99Ms": _ms(seconds, 0.99),
            "statusMaxMs": _ms(seconds, 1)}  # fmt: skip


def _ms(seconds: list[float], share: float) -> float:
    return round(1000 * quantile(seconds, share), 2)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _address(ground: Ground) -> tuple[str, int]:
    return ground.settings.listen.host, ground.settings.listen.port
