"""Measures as Prometheus takes them: families of samples, and their text in its format 0.0.4."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_IN_LABELS = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_IN_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})


class Kind(StrEnum):
    """How a measure behaves."""

    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True)
class Sample:
    """A value, and the values of its family's labels."""

    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of one name; a counter's name ends in _total."""

    name: str
    about: str
    samples: tuple[Sample, ...]
    labels: tuple[str, ...] = ()
    kind: Kind = Kind.GAUGE


def exposition(families: Iterable[Family]) -> str:
    """What a scrape answers."""
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.about.translate(_IN_HELP)}"
    yield f"# TYPE {family.name} {family.kind.value}"
    for sample in family.samples:
        yield f"{family.name}{_labels(family.labels, sample.labels)} {sample.value!r}"


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    pairs = (f'{name}="{value.translate(_IN_LABELS)}"' for name, value in zip(names, values, strict=True))
    return f"{{{','.join(pairs)}}}" if names else ""
