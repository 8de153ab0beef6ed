"""What `broker check-dlq` makes of its readings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker.cli.check_dlq_measures import Measure
from broker.cli.plugin import Unknown
from broker.cli.plugin_output import figure, line, without_bar
from broker.domain.alerts import NO_THRESHOLDS, Finding, Level, Reading, Thresholds, judge, worst_of

NAMED = 3
LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Report:
    """How bad it is, the line that says so, and a line for each consumer."""

    level: Level
    line: str
    details: Sequence[str]


def report(measure: Measure, readings: Sequence[Reading], thresholds: Thresholds, total: bool) -> Report:
    """Each consumer is judged, or their sum."""
    if not readings:
        raise Unknown("No consumer that was asked about has a limit (dlqMaxSize), so none can be full.")
    of_all = measure.reading(_all(len(readings)), sum(one.value for one in readings)) if measure.adds_up else None
    of_each = NO_THRESHOLDS if total else thresholds
    each = judge(readings, of_each)
    judged = judge([of_all], thresholds) if total and of_all is not None else each
    figures = [figure(one.reading.name, one.reading.value, measure.unit, of_each) for one in each]
    if of_all is not None:
        figures.insert(0, figure("total", of_all.value, measure.unit, thresholds if total else NO_THRESHOLDS))
    level = worst_of(judged)
    text = f"DLQ {level.name} - {_text(judged, each, of_all, thresholds)}"
    return Report(level, line(text, figures), [_told(one, of_each) for one in each])


def _text(judged: Sequence[Finding], each: Sequence[Finding], of_all: Reading | None, thresholds: Thresholds) -> str:
    """The worst by name, then how they stand together."""
    alarms = [one for one in judged if one.level is not Level.OK]
    named = ", ".join(_told(one, thresholds) for one in (alarms or judged)[: NAMED if alarms else 1])
    if judged is not each:
        return f"{named}; of these {_told(each[0], NO_THRESHOLDS)}"
    return "; ".join((named, ", ".join(_together(len(alarms), len(each), of_all)))) if len(each) > 1 else named


def _together(alarms: int, count: int, of_all: Reading | None) -> Iterator[str]:
    yield f"alarms for {alarms} of {count} consumers" if alarms else f"the most of {count} consumers"
    if of_all is not None:
        yield f"{of_all.words} in all"


def _told(one: Finding, thresholds: Thresholds) -> str:
    name = without_bar(one.reading.name)
    short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."
    crossed = {Level.WARNING: thresholds.warning, Level.CRITICAL: thresholds.critical}.get(one.level)
    why = "" if crossed is None else f" ({one.level.name.lower()} range {crossed.written})"
    return f"{short}: {one.reading.words}{why}"


def _all(count: int) -> str:
    return f"all {count} consumers" if count > 1 else "all of 1 consumer"
