"""Kinds of settings that are lengths of time; seconds inside."""

from dataclasses import dataclass

from broker.domain.durations import format_duration, parse_duration
from broker.domain.refusal import refused
from broker.domain.setting_types import JsonValue, Kind, compact

_MOST_DURATIONS = 50


@dataclass(frozen=True)
class Duration(Kind[float]):
    """A length of time within a range."""

    low: float
    high: float

    @property
    def limits(self) -> str:
        return f"{format_duration(self.low)} to {format_duration(self.high)}"

    def from_text(self, text: str) -> float:
        return self.from_native(text)

    def from_native(self, raw: object) -> float:
        seconds = parse_duration(raw)
        if not self.low <= seconds <= self.high:
            raise ValueError(f"{format_duration(seconds)} is out of range: {self.limits}")
        return seconds

    def to_text(self, value: float) -> str:
        return format_duration(value)

    def to_json(self, value: float) -> JsonValue:
        return compact(value)


@dataclass(frozen=True)
class Durations(Kind[tuple[float, ...]]):
    """A list of lengths of time, at least one."""

    item: Duration

    @property
    def limits(self) -> str:
        return f"1 to {_MOST_DURATIONS} durations, each {self.item.limits}"

    def from_text(self, text: str) -> tuple[float, ...]:
        return self.from_native(text.split(",") if text else [])

    def from_native(self, raw: object) -> tuple[float, ...]:
        if not isinstance(raw, list | tuple) or not 1 <= len(raw) <= _MOST_DURATIONS:
            raise refused(raw, f"a list of {self.limits}")
        return tuple(self.item.from_native(one) for one in raw)

    def to_text(self, value: tuple[float, ...]) -> str:
        return ",".join(format_duration(one) for one in value)

    def to_json(self, value: tuple[float, ...]) -> JsonValue:
        return [compact(one) for one in value]
