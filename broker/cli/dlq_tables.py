"""The dead as tables and sentences for people."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from broker.cli.backend import Json
from broker.cli.listing import Column, Listing, of
from broker.cli.output import table
from broker.domain.times import parse_time

LONGEST_ERROR = 80
_TITLES = ("channel", "consumer", "dead", "counted", "oldest", "last hour", "used", "checkpoint")
_TREND = "trend"
_BEHIND_DEAD = 3
_UNITS = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def status_table(consumers: Sequence[Json], now: datetime, trends: Sequence[str | None] | None = None) -> str:
    """A line for each consumer, and what they are together; each with its trend where trends are given."""
    total = {
        "channelId": "total",
        "consumerId": "",
        "utilizationPercent": None,
        "lastCheckedAt": None,
        "oldestDeadAt": min(filter(None, (one["oldestDeadAt"] for one in consumers)), default=None),
        **{name: sum(one[name] for one in consumers) for name in ("deadCount", "checkpointedCount", "diedLastHour")},
    }
    rows: list[list[object]] = [list(_TITLES), *(_standing(one, now) for one in [*consumers, total])]
    if trends is not None:
        for row, trend in zip(rows, (_TREND, *trends), strict=True):
            row.insert(_BEHIND_DEAD, trend)
    return table(rows, range(2, len(rows[0])))


def drift_warnings(consumers: Sequence[Json]) -> Iterator[str]:
    """An audit that found something off is not kept quiet."""
    for one in consumers:
        if one["drift"]:
            whose = f"{one['channelId']}/{one['consumerId']}"
            yield f"An audit found the count of {whose} off by {one['drift']}. See: broker dlq audit --repair"


def age(moment: str | None, now: datetime) -> str | None:
    """How long ago."""
    return None if moment is None else rough((now - parse_time("time", moment)).total_seconds())


def rough(seconds: float) -> str:
    """So long, in its two largest units: 2d 5h."""
    left = max(0, int(seconds))
    parts: list[str] = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        parts.append(f"{count}{unit}" if count else "")
    first = next((at for at, part in enumerate(parts) if part), len(parts))
    return " ".join(filter(None, parts[first : first + 2])) or "0s"


def current_time() -> datetime:
    """What ages are told from."""
    return datetime.now(UTC)


def audit_lines(audit: Json) -> Iterator[str]:
    """What is off, a line each, then the sum."""
    for one in audit["findings"]:
        after = "repaired" if one["repaired"] else f"off by {one['drift']}"
        yield f"{_whose(one)}: the summary says {one['stored']} dead, {one['real']} are: {after}"
    for one in audit["broken"]:
        told = f"should say {one['expected']}, says {one['found']}"
        yield f"{_whose(one)}: the history at {one['checkpointAt']} does not balance: {told}"
    yield f"{audit['consumers']} consumers, {audit['dead']} counted dead, {_verdict(audit)}."


def _verdict(audit: Json) -> str:
    repaired = sum(one["repaired"] for one in audit["findings"])
    counts = {
        "off": len(audit["findings"]) - repaired,
        "repaired": repaired,
        "lines of history that do not balance": len(audit["broken"]),
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "all exact"


def _whose(one: Json) -> str:
    return "a consumer that is deleted" if one["consumerId"] is None else f"{one['channelId']}/{one['consumerId']}"


def _standing(one: Json, now: datetime) -> list[object]:
    used = one["utilizationPercent"]
    return [
        one["channelId"],
        one["consumerId"],
        one["deadCount"],
        one["checkpointedCount"],
        age(one["oldestDeadAt"], now),
        one["diedLastHour"],
        None if used is None else f"{used:g}%",
        age(one["lastCheckedAt"], now),
    ]


def _error_text(one: Json) -> str | None:
    text = (one["error"] or {}).get("text")
    return text if text is None or len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]}..."


DEAD = Listing(
    (
        Column("id", 20, of("id")),
        Column("deadAt", 27, of("deadAt")),
        Column("reason", 17, of("deadReason")),
        Column("category", 10, of("error", "category")),
        Column("retries", 7, of("retryAttemptCount")),
        Column("type", 16, of("error", "type")),
        Column("error", 0, _error_text),
    ),
    "There are no such dead jobs.",
)
OPERATIONS = Listing(
    (
        Column("id", 20, of("id")),
        Column("act", 7, of("act")),
        Column("state", 9, of("state")),
        Column("done", 8, of("done")),
        Column("skipped", 8, of("skipped")),
        Column("of", 8, of("total")),
        Column("createdAt", 27, of("createdAt")),
        Column("consumer", 20, _whose),
        Column("actor", 0, of("actor")),
    ),
    "There are no operations.",
)
