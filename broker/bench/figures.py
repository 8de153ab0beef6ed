"""What every bench tells: figures of the broker, each beside the bare limit of the same run where there is one."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One of them. The ratio is 1 where the broker is as good as its bare limit, and lower where it is not."""

    bench: str
    what: str
    unit: str
    broker: float | None
    bare: float | None = None
    ratio_to_bare: float | None = None

    @classmethod
    def of_rates(cls, bench: str, what: str, unit: str, broker: float | None, bare: float | None) -> "Figure":
        """More is better."""
        return cls(bench, what, unit, broker, bare, None if broker is None or bare is None else broker / bare)

    @classmethod
    def of_times(cls, bench: str, what: str, broker: float, bare: float) -> "Figure":
        """Milliseconds: less is better."""
        return cls(bench, what, "ms", broker, bare, bare / broker)

    def show(self) -> dict[str, object]:
        """For scripts and tables."""
        return {
            "bench": self.bench,
            "what": self.what,
            "unit": self.unit,
            "broker": _short(self.broker),
            "bare": _short(self.bare),
            "ratioToBare": None if self.ratio_to_bare is None else round(self.ratio_to_bare, 3),
        }


def quantile(values: Sequence[float], share: float) -> float:
    """The value that so many are below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def in_ms(seconds: Sequence[float]) -> dict[str, object]:
    """The rounds in milliseconds, and the one in the middle."""
    rounds = [round(1000 * one, 2) for one in seconds]
    return {"median": round(median(rounds), 2), "rounds": rounds}


def _short(value: float | None) -> float | int | None:
    return None if value is None else round(value) if value >= 100 else round(value, 2)
