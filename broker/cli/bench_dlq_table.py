"""The dead-letter bench's figures as a table for people."""

from typing import Any

from broker.bench.dlq import Result
from broker.bench.dlq_figures import Bar

HEAD = f"{'':<34}{'no dead':>12}{'with dead':>12}{'ratio':>8}"


def dlq_table(result: Result) -> str:
    """Without any dead beside with many; then the bars."""
    shown: dict[str, Any] = result.as_json()
    plan, prepared = shown["plan"], shown["preparing"]
    lines = [
        HEAD,
        _timed(shown, "statusP50Ms", "/dlq-status p50, ms"),
        _timed(shown, "statusP99Ms", "/dlq-status p99, ms"),
        _timed(shown, "checkpointMs", f"checkpoint of {plan['deaths']} deaths, ms"),
        *_acted(shown, "purge"),
        *_acted(shown, "requeue"),
        _timed(shown, "groupByMs", "full GROUP BY, ms"),
        f"Dead: {plan['dead']}, most of one consumer; medians of {plan['rounds']} rounds.",
        f"Put in {prepared['fillSeconds']} s, first checkpoint {prepared['firstCheckpointSeconds']} s,"
        f" full audit {prepared['auditSeconds']} s.",
        f"Before a purge: {_polls(shown['beforePurge'])}",
        f"During it ({shown['duringPurge']['rowsPerSecond']} rows/s): {_polls(shown['duringPurge'])}",
        *map(_bar, result.bars()),
    ]  # fmt: skip
    return "\n".join(lines)


def _timed(shown: dict[str, Any], name: str, what: str) -> str:
    values = (shown["without"][name]["median"], shown["withDead"][name]["median"])
    return f"{what:<34}{values[0]:>12}{values[1]:>12}{shown['ratio'][name]:>8}"


def _acted(shown: dict[str, Any], kind: str) -> list[str]:
    sides = (shown["without"][kind], shown["withDead"][kind])
    rows = ((kind, "rowsPerSecond", "rows/s"), (kind, "barePerSecond", "bare rows/s"), (kind, "ratioToBare", "by bare"))
    return [f"{f'{name}, {unit}':<34}" + "".join(f"{side[field]:>12}" for side in sides) for name, field, unit in rows]


def _polls(polled: dict[str, Any]) -> str:
    times = f"p50 {polled['statusP50Ms']} ms, p99 {polled['statusP99Ms']} ms, longest {polled['statusMaxMs']} ms"
    return f"/dlq-status polled every 100 ms: {times}, of {polled['polls']} polls."


def _bar(bar: Bar) -> str:
    return f"Bar: {bar.what}: {bar.measured:g}, {bar.wanted}: {'met' if bar.met else 'NOT MET'}"
