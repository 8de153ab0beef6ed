"""`broker bench deliver`: a real `broker work` beside the bare limit, in turns, on the same database.

When the clock starts. The engine is up and idle (it has delivered one job for each consumer) before the jobs are put
in, and all of them carry one due time a few seconds ahead; the clock starts at that moment. So neither the engine's
start nor the filling is measured, no job changes before its claim, and the engine has to find out by itself that there
is work. It ends when the last job is DELIVERED in the database. The bare processes are connected and then told to go;
they end with their last commit. CPU seconds are differences of living processes around that time.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from broker.bench.bare_deliver import Engine, deliver_bare
from broker.bench.client import BenchFailed
from broker.bench.deliver_engine import wait_until_delivered, warm_up, working
from broker.bench.deliver_figures import Bound, Phase, Side, ratios
from broker.bench.deliver_fill import Filled
from broker.bench.deliver_place import Ground, Target, prepared
from broker.bench.figures import Figure
from broker.bench.processes import cpu_seconds, peak_megabytes
from broker.config import Settings
from broker.domain.states import JobStatus

BARE_CONNECTIONS = 64
CALM_SECONDS = 1.0
SNAPSHOT_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of what to measure. `patience`: seconds without a delivery that end the bench."""

    jobs: int = 40_000
    payload_bytes: int = 490
    workers: int = 2
    consumers: int = 5
    rounds: int = 3
    target_ms: float = 0
    backlog: int = 0
    answer: int = 200
    patience: float = 30.0


@dataclass(frozen=True, slots=True)
class Result:
    """What was asked for and what was measured."""

    plan: Plan
    product: Side
    bare: Side
    bound: Bound | None
    backlog: int

    def as_json(self) -> dict[str, object]:
        """For scripts."""
        product = self.product.total
        return {
            "plan": asdict(self.plan),
            "product": self.product.show(),
            "bare": self.bare.show(),
            "ratio": ratios(self.product, self.bare),
            "bound": None if self.bound is None else self.bound.show(product.jobs / product.seconds),
            "backlogAtTheEnd": self.backlog,
        }

    def figures(self) -> list[Figure]:
        """By the clock, and by the CPU time of engine and database."""
        mine, bare = self.product.total, self.bare.total
        return [
            Figure.of_rates("deliver", "a local target", "jobs/s", mine.jobs / mine.seconds, bare.jobs / bare.seconds),
            Figure.of_rates(
                "deliver", "a local target", "jobs/CPU s", mine.jobs_per_cpu_second, bare.jobs_per_cpu_second
            ),
        ]


def run(settings: Settings, plan: Plan, advance: Callable[[], None]) -> Result:
    """Measure on a scratch database of the configured server; `advance` is told of each finished step."""
    target = Target(plan.target_ms, plan.answer)
    with prepared(settings, plan.consumers, plan.payload_bytes, target) as ground:
        return _Bench(ground, plan).measure(advance)


def steps(plan: Plan) -> int:
    """How many steps `run` will tell of."""
    return plan.rounds * 2 + 1


class _Bench:
    """Alternates between the bare limit and the broker, so that both meet the same noise."""

    def __init__(self, ground: Ground, plan: Plan) -> None:
        self.ground, self.plan = ground, plan
        self.processes = 1 if ground.place.is_sqlite else plan.workers
        self.bound = Bound(self._connections(), plan.target_ms) if plan.target_ms else None
        self.fill_seconds = 0.0

    def measure(self, advance: Callable[[], None]) -> Result:
        product, bare = Side(f"broker work, {self.plan.workers}"), Side(f"bare, {self.processes}")
        self.ground.filler.fill_backlog(self.plan.backlog)
        advance()
        for _ in range(self.plan.rounds):
            bare.phases.append(self._bare())
            advance()
            product.phases.append(self._product())
            advance()
        return Result(self.plan, product, bare, self.bound, self.ground.filler.backlog())

    def _connections(self) -> int:
        """How many deliveries the settings allow at once; a consumer's limit is for all processes together."""
        settings, plan = self.ground.settings, self.plan
        return min(settings.delivery_concurrency * plan.workers, settings.consumer_concurrency * plan.consumers)

    def _bare(self) -> Phase:
        filler = self.ground.filler
        filled = self._fill(0)
        filler.close()
        time.sleep(CALM_SECONDS)
        connections = self.bound.connections // self.processes if self.bound else BARE_CONNECTIONS
        engine = Engine(self.ground.place, self.ground.keys, self.ground.url, max(1, connections), self.processes)
        before = self._database_cpu()
        seconds, cpu = deliver_bare(engine)
        return self._phase(filled, seconds, cpu, _less(self._database_cpu(), before), 0.0)

    def _product(self) -> Phase:
        with working(self.ground.settings, self.plan.workers) as pid:
            warm_up(self.ground, pid, self.plan.patience)
            lead = 2 * self.fill_seconds + CALM_SECONDS + SNAPSHOT_SECONDS
            starts = time.monotonic() + lead
            filled = self._fill(lead)
            _sleep_until(starts - SNAPSHOT_SECONDS)
            before = (cpu_seconds(pid) or 0.0, self._database_cpu())
            _sleep_until(starts)
            seconds = wait_until_delivered(self.ground, filled, pid, self.plan.patience) - starts
            cpu, database = (cpu_seconds(pid) or 0.0) - before[0], _less(self._database_cpu(), before[1])
            return self._phase(filled, seconds, cpu, database, peak_megabytes(pid))

    def _fill(self, lead: float) -> Filled:
        begun = time.monotonic()
        filled = self.ground.filler.fill(self.plan.jobs, self.ground.filler.soon(lead))
        self.fill_seconds = time.monotonic() - begun
        return filled

    def _phase(self, filled: Filled, seconds: float, cpu: float, database: float | None, peak: float) -> Phase:
        """Only when every job is where it belongs, and every one of them has arrived."""
        states, report = self.ground.filler.states(filled), self.ground.sink.take()
        distinct = len(report.ids) - report.duplicates
        if states != {int(JobStatus.DELIVERED): filled.count} or distinct != filled.count:
            raise BenchFailed(f"of {filled.count} jobs {distinct} arrived, and their states are {states}")
        return Phase(
            filled.count, seconds, cpu, database, report.cpu_seconds, report.duplicates, states,
            report.most_at_once, peak,
        )  # fmt: skip

    def _database_cpu(self) -> float | None:
        return 0.0 if self.ground.place.is_sqlite else cpu_seconds(self.ground.place.server_pid)


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _sleep_until(moment: float) -> None:
    """Fails when it is past already: the jobs would have been due before the clock starts."""
    left = moment - time.monotonic()
    if left < 0:
        raise BenchFailed("putting the jobs in took twice as long as the time before; the machine is too busy")
    time.sleep(left)
