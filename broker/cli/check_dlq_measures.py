"""What can be checked of the dead, and how it is read from what `/dlq-status` answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf

from broker.cli.backend import Json
from broker.cli.dlq_tables import rough
from broker.cli.plugin import Unknown
from broker.domain.alert_ranges import ReadBound, read_number, read_percent
from broker.domain.alerts import Reading
from broker.domain.durations import parse_duration
from broker.domain.errors import Invalid
from broker.domain.refusal import shortened
from broker.domain.times import parse_time

Value = Callable[[Json, datetime], float | None]
Words = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Measure:
    """A value of each consumer, None where it has none; how a bound is written; whether a sum means anything."""

    value: Value
    words: Words
    read_bound: ReadBound = read_number
    unit: str = ""
    adds_up: bool = False

    def readings(self, status: Json) -> list[Reading]:
        """One for each consumer that has such a value."""
        try:
            now = parse_time("asOf", status["asOf"])
            found = [(_name(one), self.value(one, now)) for one in status["consumers"]]
        except (KeyError, TypeError, ValueError, Invalid) as error:
            raise Unknown(f"The answer is not that of a broker of this version: {error!r}") from error
        return [self.reading(name, value) for name, value in found if value is not None]

    def reading(self, name: str, value: float) -> Reading:
        """A value in words too."""
        return Reading(name, value, self.words(value))


def _name(one: Json) -> str:
    return f"{one['channelId']}/{one['consumerId']}"


def _number(key: str) -> Value:
    return lambda one, now: _checked(one[key])


def _checked(value: object) -> float:
    """No number of a broker is negative or without an end."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise ValueError(f"{shortened(value)} is not a number of a broker")
    return float(value)


def _age(key: str, without: float | None = None) -> Value:
    def value(one: Json, now: datetime) -> float | None:
        if one[key] is None:
            return without
        return max(0.0, round((now - parse_time(key, one[key])).total_seconds(), 1))

    return value


def _utilization(one: Json, now: datetime) -> float | None:
    percent = one["utilizationPercent"]
    return None if percent is None else _checked(percent)


MEASURES: Mapping[str, Measure] = {
    "count": Measure(_number("deadCount"), lambda value: f"{value:.0f} dead", adds_up=True),
    "oldest": Measure(
        _age("oldestDeadAt", without=0.0),
        lambda value: f"oldest dead for {rough(value)}" if value else "none dead",
        parse_duration,
        "s",
    ),
    "growth": Measure(_number("diedLastHour"), lambda value: f"{value:.0f} died in the last hour", adds_up=True),
    "checkpoint": Measure(
        _age("lastCheckedAt"), lambda value: f"last checkpoint {rough(value)} ago", parse_duration, "s"
    ),
    "utilization": Measure(_utilization, lambda value: f"{value:g}% full", read_percent, "%"),
}
