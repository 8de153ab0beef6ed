"""The line that monitoring reads: text, and figures behind a bar."""

from collections.abc import Sequence

from broker.cli.output import cell
from broker.domain.alert_ranges import show_number
from broker.domain.alerts import Thresholds

LONGEST_TEXT = 1000
LONGEST_LINE = 8000  # bytes; Nagios cuts at 8192, and half a figure would be a wrong one


def one_line(text: str) -> str:
    """A text without what would end it, or begin the figures."""
    words = without_bar(" ".join(text.split()))
    return words if len(words) <= LONGEST_TEXT else f"{words[: LONGEST_TEXT - 3]}..."


def without_bar(text: str) -> str:
    """What is not printable is shown as its code, and so is the bar."""
    return cell(text).replace("|", r"\x7c")


def figure(name: str, value: float, unit: str, thresholds: Thresholds) -> str:
    """'label'=value[unit];warning;critical;minimum"""
    label = without_bar(name).replace("'", r"\x27").replace("=", r"\x3d")
    ranges = ("" if one is None else str(one) for one in (thresholds.warning, thresholds.critical))
    return f"'{label}'={show_number(value)}{unit};{';'.join(ranges)};0"


def line(text: str, figures: Sequence[str]) -> str:
    """As many figures as fit, the first before the others."""
    told = one_line(text)
    room = LONGEST_LINE - len(told.encode()) - len(" |")
    fitting: list[str] = []
    for one in figures:
        room -= len(one.encode()) + 1
        if room < 0:
            break
        fitting.append(one)
    return " ".join((told, "|", *fitting)) if fitting else told
