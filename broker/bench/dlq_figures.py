"""The figures of the dead-letter bench: medians of rounds, without any dead and with many, and their bars."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from broker.bench.dlq_acts import Rates
from broker.bench.figures import in_ms, quantile

STATUS_RATIO = CHECKPOINT_RATIO = 1.5
BARE_RATIO = 0.7
POLL_MS = 50.0
Json = dict[str, object]


@dataclass(slots=True)
class Side:
    """What was measured on one database, a value for each round."""

    status: list[list[float]] = field(default_factory=list)
    checkpoint: list[float] = field(default_factory=list)
    purge: list[Rates] = field(default_factory=list)
    requeue: list[Rates] = field(default_factory=list)
    group_by: list[float] = field(default_factory=list)

    @property
    def status_p99_ms(self) -> float:
        """Of /dlq-status, the median of the rounds."""
        return 1000 * median(quantile(one, 0.99) for one in self.status)

    def show(self) -> Json:
        """Milliseconds, and rows a second."""
        return {
            "statusP50Ms": in_ms([quantile(one, 0.5) for one in self.status]),
            "statusP99Ms": in_ms([quantile(one, 0.99) for one in self.status]),
            "checkpointMs": in_ms(self.checkpoint),
            "purge": _rates(self.purge),
            "requeue": _rates(self.requeue),
            "groupByMs": in_ms(self.group_by),
        }


@dataclass(frozen=True, slots=True)
class Bar:
    """What was asked for, and whether it is so."""

    what: str
    wanted: str
    measured: float
    met: bool


def ratio(without: Json, with_dead: Json, name: str) -> float:
    """With dead by without, of the medians."""
    return round(_median(with_dead, name) / _median(without, name), 2)


def bars(without: Json, with_dead: Json, poll_p99_ms: float) -> list[Bar]:
    """Every one, met or not."""
    return [
        _at_most("/dlq-status p99, with dead by without", ratio(without, with_dead, "statusP99Ms"), STATUS_RATIO),
        _at_most("checkpoint, with dead by without", ratio(without, with_dead, "checkpointMs"), CHECKPOINT_RATIO),
        *(
            Bar(f"{kind}, by bare", f"at least {BARE_RATIO:g}", lowest, lowest >= BARE_RATIO)
            for kind in ("purge", "requeue")
            for lowest in [min(_by_bare(without, kind), _by_bare(with_dead, kind))]
        ),
        Bar("/dlq-status p99 during a purge, ms", f"under {POLL_MS:g}", poll_p99_ms, poll_p99_ms < POLL_MS),
    ]


def _at_most(what: str, measured: float, most: float) -> Bar:
    return Bar(what, f"at most {most:g}", measured, measured <= most)


def _by_bare(shown: Json, kind: str) -> float:
    rates = shown[kind]
    assert isinstance(rates, dict)
    return float(rates["ratioToBare"])


def _median(shown: Json, name: str) -> float:
    figure = shown[name]
    assert isinstance(figure, dict)
    return float(figure["median"])


def _rates(rounds: Sequence[Rates]) -> Json:
    ratios = [round(one.product / one.bare, 3) for one in rounds]
    return {
        "rowsPerSecond": round(median(one.product for one in rounds)),
        "barePerSecond": round(median(one.bare for one in rounds)),
        "ratioToBare": round(median(ratios), 3),
        "ratioOfRounds": ratios,
    }
