"""The dead looked at again and again: what is told at each look, and what changed since the one before."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

import click

from broker.cli.backend import Json
from broker.cli.dlq_tables import current_time, drift_warnings, status_table
from broker.cli.errors import Unreachable, told
from broker.cli.screen import Screen, arrows
from broker.domain.durations import format_duration
from broker.domain.errors import Unavailable
from broker.domain.times import show_time

OLD, SAME = "old", "="
_TOTAL = ("", "")
Counts = dict[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Known:
    """What a look found, when, and what changed since the one before: for each consumer, then for all."""

    consumers: Sequence[Json]
    at: datetime
    trends: Sequence[str | None]


class Watch:
    """Looks and tells; when nobody can be asked, what was known last is told, as old."""

    def __init__(self, look: Callable[[], list[Json]], interval: float) -> None:
        self._look, self._interval = look, interval
        self._arrows = arrows()
        self._known: Known | None = None

    def run(self, screen: Screen, most: int | None) -> int:
        """So many looks, or without end; gives the exit code."""
        for number in count(1):
            away = self._look_once()
            screen.show(self._lines(away, current_time()))
            if number == most:
                break
            time.sleep(self._interval)
        return 0 if away is None else Unreachable.exit_code

    def _look_once(self) -> str | None:
        """What stands in the way, if something does."""
        try:
            consumers = self._look()
        except (Unreachable, Unavailable) as error:
            return _sentence(error)
        before = _counts(self._known.consumers) if self._known else {}
        trends = [self._trend(before.get(whose), dead) for whose, dead in _counts(consumers).items()]
        self._known = Known(consumers, current_time(), trends)
        return None

    def _trend(self, before: int | None, now: int) -> str | None:
        if before is None:
            return None
        more, less = self._arrows
        return SAME if before == now else f"{more if now > before else less}{abs(now - before)}"

    def _lines(self, away: str | None, now: datetime) -> Iterator[str]:
        yield f"Dead letters, every {format_duration(self._interval)}: {_second(now)}"
        known = self._known
        if away is not None:
            yield f"AWAY: {away}"
            yield f"Old values, of {_second(known.at)}:" if known else "Nothing is known yet."
        if known is not None:
            yield from drift_warnings(known.consumers)
            yield ""
            yield from _table(known, is_old=away is not None)


def _table(known: Known, is_old: bool) -> list[str]:
    """Ages are those at the time of the look."""
    if not known.consumers:
        return ["There are no such consumers."]
    trends = [OLD] * len(known.trends) if is_old else known.trends
    return status_table(known.consumers, known.at, trends).splitlines()


def _counts(consumers: Sequence[Json]) -> Counts:
    counts = {(one["channelId"], one["consumerId"]): int(one["deadCount"]) for one in consumers}
    return {**counts, _TOTAL: sum(counts.values())}


def _sentence(error: Unreachable | Unavailable) -> str:
    shown: click.ClickException = told(error) if isinstance(error, Unavailable) else error
    return " ".join(shown.message.split())


def _second(moment: datetime) -> str:
    return show_time(moment)[:19] + "Z"
