"""What a monitoring check makes of its readings: how bad each is, and all of them together."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from broker.domain.alert_ranges import AlertRange


class Level(IntEnum):
    """How bad it is; the numbers are the exit codes of monitoring plugins."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """A measured value, whose it is, and the same in words."""

    name: str
    value: float
    words: str


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From where on it is a warning, and from where on critical; what is not given never alarms."""

    warning: AlertRange | None = None
    critical: AlertRange | None = None

    def level(self, value: float) -> Level:
        """How bad a value is; critical goes before warning."""
        if self.critical is not None and self.critical.alarms(value):
            return Level.CRITICAL
        if self.warning is not None and self.warning.alarms(value):
            return Level.WARNING
        return Level.OK


NO_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class Finding:
    """A reading and how bad it is."""

    reading: Reading
    level: Level


def judge(readings: Sequence[Reading], thresholds: Thresholds) -> list[Finding]:
    """The worst first; among equals the largest."""
    found = [Finding(one, thresholds.level(one.value)) for one in readings]
    return sorted(found, key=lambda one: (-one.level, -one.reading.value))


def worst_of(findings: Sequence[Finding]) -> Level:
    """As bad as the worst of them; where nothing was measured, nothing is known."""
    return max((one.level for one in findings), default=Level.UNKNOWN)
