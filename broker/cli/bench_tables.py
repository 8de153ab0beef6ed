"""The benches' figures as tables for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from broker.bench.deliver import Result as Delivered
from broker.bench.latency import Result as Latency
from broker.bench.publish import Measure

Columns = Sequence[tuple[str, str, int]]

PUBLISH: Columns = (
    ("what", "", 30),
    ("messagesPerSecond", "messages/s", 11),
    ("barePerSecond", "bare/s", 9),
    ("ratioToBare", "ratio", 7),
    ("brokerCpuPer1000", "broker CPU", 11),
    ("databaseCpuPer1000", "db CPU", 8),
    ("bareDatabaseCpuPer1000", "bare db CPU", 12),
    ("answerP50Ms", "p50 ms", 8),
    ("answerP99Ms", "p99 ms", 8),
)
DELIVER: Columns = (
    ("what", "", 16),
    ("jobs", "jobs", 9),
    ("jobsPerSecond", "jobs/s", 8),
    ("jobsPerCpuSecond", "jobs/CPU s", 11),
    ("engineCpuPer1000", "engine CPU", 11),
    ("databaseCpuPer1000", "db CPU", 8),
    ("sinkCpuPer1000", "target CPU", 11),
    ("duplicates", "twice", 6),
    ("peakMemoryMb", "peak MB", 8),
)
LATENCY: Columns = (
    ("messages", "messages", 9),
    ("messagesPerSecond", "messages/s", 11),
    ("p50Ms", "p50 ms", 9),
    ("p99Ms", "p99 ms", 9),
    ("maxMs", "max ms", 9),
    ("duplicates", "twice", 6),
    ("idleEngineShare", "idle engine", 12),
    ("idleDatabaseShare", "idle db", 9),
)


def publish_table(measures: Sequence[Measure]) -> str:
    """One line for each way of publishing."""
    rows = [measure.show() for measure in measures]
    return _table(PUBLISH, rows, "CPU: seconds per 1,000 messages. Ratio: to the bare inserts of the same run.")


def deliver_table(result: Delivered) -> str:
    """The broker above its bare limit, then what one makes of the other."""
    shown: dict[str, Any] = result.as_json()
    ratio = shown["ratio"]
    notes = [
        "CPU: seconds per 1,000 jobs. jobs/CPU s: of engine and database together, without the target.",
        f"Ratio to bare: {_told(ratio['perCpuSecond'])} per CPU second"
        f" (rounds: {', '.join(map(_told, ratio['perCpuSecondOfRounds']))}), {_told(ratio['perSecond'])} per second.",
        f"States at the end: {', '.join(f'{count} {name}' for name, count in shown['product']['states'].items())}.",
    ]
    if bound := shown["bound"]:
        notes.append(_bound(bound, shown["product"]["mostAtOnce"], shown["bare"]["jobsPerSecond"]))
    if result.plan.backlog:
        notes.append(f"Waiting at the end for the consumer that is paused: {shown['backlogAtTheEnd']}.")
    return _table(DELIVER, [shown["product"], shown["bare"]], *notes)


def latency_table(result: Latency) -> str:
    """One line."""
    return _table(
        LATENCY,
        [result.as_json()],
        "From the commit of a message to its arrival. Idle: share of one core while nothing is published.",
    )


def _bound(bound: Mapping[str, Any], most_at_once: int | None, bare: int) -> str:
    most = bound["jobsPerSecond"]
    return (
        f"Bound: {bound['connections']} connections x 1000 / {bound['targetMs']:g} ms = {most} jobs/s;"
        f" ratio to it {bound['ratio']} (bare: {bare / most:.3f}). Most at once: {most_at_once}."
    )


def _table(columns: Columns, rows: Sequence[Mapping[str, Any]], *notes: str) -> str:
    head = "".join(f"{title:>{width}}" for _, title, width in columns)
    lines = ["".join(_cell(row[name], width) for name, _, width in columns) for row in rows]
    return "\n".join([head, *lines, *notes])


def _cell(value: object, width: int) -> str:
    return f"{value:<{width}}" if isinstance(value, str) else f"{_told(value):>{width}}"


def _told(value: object) -> str:
    return "-" if value is None else str(value)
