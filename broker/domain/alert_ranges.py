"""Ranges as monitoring plugins write them: `10`, `10:`, `~:10`, `10:20`, `@10:20`."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from broker.domain.refusal import refused, shortened

LARGEST = 1e15
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_WANTED = "a range like 10, 10:, ~:10, 10:20 or @10:20"
ReadBound = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class AlertRange:
    """What lies outside of it alarms, or inside of it; both its ends belong to it."""

    low: float = 0.0
    high: float = inf
    inside: bool = False
    written: str = field(default="", compare=False)

    def alarms(self, value: float) -> bool:
        """Whether this value is one to tell somebody about."""
        return (self.low <= value <= self.high) is self.inside

    def __str__(self) -> str:
        """The usual way to write it, with bare numbers."""
        low = "~:" if self.low == -inf else f"{show_number(self.low)}:" if self.low or self.high == inf else ""
        high = "" if self.high == inf else show_number(self.high)
        return f"{'@' if self.inside else ''}{low}{high}"


def parse_range(text: str, read_bound: ReadBound) -> AlertRange:
    """Without a colon it starts at 0; without an end it has none, nor a start when that is `~`."""
    inside, stripped = text.strip().startswith("@"), text.strip().removeprefix("@")
    low, colon, high = stripped.partition(":") if ":" in stripped else ("", "", stripped)
    if not low and not high:
        raise refused(text, _WANTED)
    start = -inf if low == "~" else _bound(text, low, read_bound) if low else 0.0
    end = _bound(text, high, read_bound) if high or not colon else inf
    if start > end:
        raise ValueError(f"{shortened(text)} starts above its end")
    return AlertRange(start, end, inside, text.strip())


def read_number(text: str) -> float:
    """A bound that is a bare number."""
    if not _NUMBER.fullmatch(text):
        raise refused(text, "a number")
    return float(text)


def read_percent(text: str) -> float:
    """A bound whose sign may be written or left out."""
    return read_number(text.removesuffix("%"))


def show_number(number: float) -> str:
    """Without an exponent, exact to a millionth, no longer than it must be."""
    return f"{number + 0.0:.6f}".rstrip("0").rstrip(".")


def _bound(text: str, bound: str, read_bound: ReadBound) -> float:
    try:
        number = read_bound(bound)
    except ValueError as error:
        raise ValueError(f"{shortened(text)} is not {_WANTED}: {error}") from None
    if abs(number) > LARGEST:
        raise ValueError(f"{shortened(text)} has a bound that is too large")
    return round(number, 6) + 0.0
