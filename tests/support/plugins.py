"""The output of a monitoring plugin, read as the guidelines of the plugins say."""

import re
from dataclasses import dataclass
from typing import Self

_FIGURE = re.compile(r"'((?:[^'=]|'')*)'=(-?[0-9.]+)(s|%|)((?:;[^; ]*)*)(?: |$)")
LEVELS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


@dataclass(frozen=True)
class Figure:
    """A value with its unit and its ranges, empty where there is none."""

    value: float
    unit: str
    warning: str
    critical: str
    minimum: str


@dataclass(frozen=True)
class PluginOutput:
    """What monitoring reads of the first line."""

    level: str
    text: str
    figures: dict[str, Figure]

    @classmethod
    def parse(cls, stdout: str) -> Self:
        """Text, then figures behind the only bar; nothing that does not belong to either."""
        first, _, _ = stdout.partition("\n")
        told, bar, figures = first.partition(" | ")
        level, text = re.fullmatch(r"DLQ (\w+) - (.+)", told).groups()  # type: ignore[union-attr]
        assert level in LEVELS
        assert "|" not in told + figures
        found = {match[1]: _figure(match) for match in _FIGURE.finditer(figures)}
        assert "".join(match[0] for match in _FIGURE.finditer(figures)) == figures
        assert bool(bar) is bool(found)
        return cls(level, text, found)


def _figure(match: re.Match[str]) -> Figure:
    warning, critical, minimum = match[4].removeprefix(";").split(";")
    return Figure(float(match[2]), match[3], warning, critical, minimum)
