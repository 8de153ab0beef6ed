"""The benches' figures as tables for people, all of one form: a line for each thing measured, then what they mean."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from broker.bench.checkpoint import Result as Checkpointed
from broker.bench.deliver import Result as Delivered
from broker.bench.dlq import Result as Dead
from broker.bench.dlq_figures import Bar
from broker.bench.latency import Result as Latency
from broker.bench.publish import Result as Published
from broker.bench.together import Result as All
from broker.cli.output import cell, table

Columns = Mapping[str, str]
PUBLISH: Columns = {
    "what": "",
    "messagesPerSecond": "messages/s",
    "barePerSecond": "bare/s",
    "ratioToBare": "ratio",
    "brokerCpuPer1000": "broker CPU",
    "databaseCpuPer1000": "db CPU",
    "bareDatabaseCpuPer1000": "bare db CPU",
    "answerP50Ms": "p50 ms",
    "answerP99Ms": "p99 ms",
}
DELIVER: Columns = {
    "what": "",
    "jobs": "jobs",
    "jobsPerSecond": "jobs/s",
    "jobsPerCpuSecond": "jobs/CPU s",
    "engineCpuPer1000": "engine CPU",
    "databaseCpuPer1000": "db CPU",
    "sinkCpuPer1000": "target CPU",
    "duplicates": "twice",
    "peakMemoryMb": "peak MB",
}
LATENCY: Columns = {
    "what": "",
    "messages": "messages",
    "messagesPerSecond": "messages/s",
    "p50Ms": "p50 ms",
    "p99Ms": "p99 ms",
    "maxMs": "max ms",
    "duplicates": "twice",
    "idleEngineShare": "idle engine",
    "idleDatabaseShare": "idle db",
}
DEAD: Columns = {"what": "", "without": "no dead", "withDead": "with dead", "ratio": "ratio"}
FIGURES: Columns = {"what": "", "unit": "unit", "broker": "broker", "bare": "bare", "ratioToBare": "ratio"}
RATIO = "Ratio: to the bare limit of the same run; 1 is as good, less is slower."


def all_table(result: All) -> str:
    """Every figure of every bench."""
    rows = [{**one.show(), "what": f"{one.bench}: {one.what}"} for one in result.figures()]
    return _table(FIGURES, rows, RATIO)


def publish_table(result: Published) -> str:
    """One line for each way of publishing."""
    rows = [measure.show() for measure in result.measures]
    return _table(PUBLISH, rows, "CPU: seconds per 1,000 messages. Ratio: to the bare inserts of the same run.")


def deliver_table(result: Delivered) -> str:
    """The broker above its bare limit, then what one makes of the other."""
    shown: dict[str, Any] = result.as_json()
    ratio = shown["ratio"]
    notes = [
        "CPU: seconds per 1,000 jobs. jobs/CPU s: of engine and database together, without the target.",
        f"Ratio to bare: {cell(ratio['perCpuSecond'])} per CPU second"
        f" (rounds: {', '.join(map(cell, ratio['perCpuSecondOfRounds']))}), {cell(ratio['perSecond'])} per second.",
        f"States at the end: {', '.join(f'{count} {name}' for name, count in shown['product']['states'].items())}.",
    ]
    if bound := shown["bound"]:
        notes.append(_bound(bound, shown["product"]["mostAtOnce"], shown["bare"]["jobsPerSecond"]))
    if result.plan.backlog:
        notes.append(f"Waiting at the end for the consumer that is paused: {shown['backlogAtTheEnd']}.")
    return _table(DELIVER, [shown["product"], shown["bare"]], *notes)


def latency_table(result: Latency) -> str:
    """One line."""
    told = "From the commit of a message to its arrival. Idle: share of one core while nothing is published."
    return _table(LATENCY, [{"what": "publish to arrival", **result.as_json()}], told)


def checkpoint_table(result: Checkpointed) -> str:
    """The new dead, then all of them."""
    plan = result.plan
    return _table(
        FIGURES,
        [figure.show() for figure in result.figures()],
        RATIO,
        f"Bare: a locking count and update of the same rows, and a full GROUP BY. Medians of {plan.rounds} rounds.",
        f"The bootstrap counted {plan.dead} dead in {result.steps} {'step' if result.steps == 1 else 'steps'}.",
    )


def dlq_table(result: Dead) -> str:
    """Without any dead beside with many; then the bars."""
    shown: dict[str, Any] = result.as_json()
    plan, prepared = shown["plan"], shown["preparing"]
    rows = [
        _timed(shown, "statusP50Ms", "/dlq-status p50, ms"),
        _timed(shown, "statusP99Ms", "/dlq-status p99, ms"),
        _timed(shown, "checkpointMs", f"checkpoint of {plan['deaths']} deaths, ms"),
        *_acted(shown, "purge"),
        *_acted(shown, "requeue"),
        _timed(shown, "groupByMs", "full GROUP BY, ms"),
    ]
    return _table(
        DEAD,
        rows,
        f"Dead: {plan['dead']}, most of one consumer; medians of {plan['rounds']} rounds.",
        f"Put in {prepared['fillSeconds']} s, first checkpoint {prepared['firstCheckpointSeconds']} s,"
        f" full audit {prepared['auditSeconds']} s.",
        f"Before a purge: {_polls(shown['beforePurge'])}",
        f"During it ({shown['duringPurge']['rowsPerSecond']} rows/s): {_polls(shown['duringPurge'])}",
        *map(_bar, result.bars()),
    )


def _table(columns: Columns, rows: Sequence[Mapping[str, Any]], *notes: str) -> str:
    lines: Iterable[Sequence[object]] = ([row[name] for name in columns] for row in rows)
    return "\n".join([table([list(columns.values()), *lines], range(1, len(columns))), *notes])


def _bound(bound: Mapping[str, Any], most_at_once: int | None, bare: int) -> str:
    most = bound["jobsPerSecond"]
    return (
        f"Bound: {bound['connections']} connections x 1000 / {bound['targetMs']:g} ms = {most} jobs/s;"
        f" ratio to it {bound['ratio']} (bare: {bare / most:.3f}). Most at once: {most_at_once}."
    )


def _timed(shown: dict[str, Any], name: str, what: str) -> dict[str, object]:
    without, with_dead = (shown[side][name]["median"] for side in ("without", "withDead"))
    return {"what": what, "without": without, "withDead": with_dead, "ratio": shown["ratio"][name]}


def _acted(shown: dict[str, Any], kind: str) -> list[dict[str, object]]:
    fields = {"rows/s": "rowsPerSecond", "bare rows/s": "barePerSecond", "by bare": "ratioToBare"}
    return [
        {
            "what": f"{kind}, {unit}",
            "ratio": None,
            **{side: shown[side][kind][name] for side in ("without", "withDead")},
        }
        for unit, name in fields.items()
    ]


def _polls(polled: dict[str, Any]) -> str:
    times = f"p50 {polled['statusP50Ms']} ms, p99 {polled['statusP99Ms']} ms, longest {polled['statusMaxMs']} ms"
    return f"/dlq-status polled every 100 ms: {times}, of {polled['polls']} polls."


def _bar(bar: Bar) -> str:
    return f"Bar: {bar.what}: {bar.measured:g}, {bar.wanted}: {'met' if bar.met else 'NOT MET'}"
