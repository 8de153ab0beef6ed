"""What `broker check-dlq` asks, where, and how long it waits for the answer."""

from dataclasses import dataclass, replace
from pathlib import Path

import click

from broker.cli.backend import Json
from broker.cli.check_dlq_measures import Measure
from broker.cli.context import CliContext
from broker.cli.plugin import Unknown
from broker.domain.alert_ranges import AlertRange, parse_range
from broker.domain.alerts import Thresholds
from broker.domain.durations import format_duration, parse_duration
from broker.runtime.deadline import TooLate, within

LONGEST_WAIT = 3600.0
_LATER = 1.0  # what waits below gives up after the check has told, so that one of the two tells


@dataclass(frozen=True, slots=True)
class Question:
    """Whose dead are asked about; those of all without ids."""

    channel_id: str | None
    consumer_id: str | None

    def ask(self, context: CliContext, seconds: float) -> Json:
        """What `broker dlq status` knows; that there is nobody to ask about is no answer."""
        try:
            status = within(seconds, lambda: self._status(replace(context, seconds=seconds + _LATER)))
        except TooLate:
            place = context.url or "the database"
            raise Unknown(f"No answer from {place} within {format_duration(seconds)}.") from None
        if not status["consumers"]:
            raise Unknown(self._nobody())
        return status

    def _status(self, context: CliContext) -> Json:
        with context.backend() as backend:
            return backend.dlq.status(self.channel_id, self.consumer_id)

    def _nobody(self) -> str:
        channel, consumer = self.channel_id, self.consumer_id
        if channel is not None and consumer is not None:
            return f"There is no consumer {consumer!r} in a channel {channel!r}."
        if channel is not None:
            return f"There is no channel {channel!r}, or it has no consumers."
        return "There are no consumers." if consumer is None else f"There is no consumer {consumer!r}."


def placed(context: CliContext, url: str | None, token: str | None, ca_file: Path | None) -> CliContext:
    """What the command is given goes before what stands before it, or in the environment."""
    if url is not None and "database_url" in context.options:
        raise click.UsageError("Give --url or --database-url, not both.")
    return replace(
        context,
        url=context.url if url is None else url,
        token=context.token if token is None else token,
        ca_file=ca_file,
    )


def thresholds_of(measure: Measure, warning: str | None, critical: str | None) -> Thresholds:
    """At least one of them, or the check would be good whatever happens."""
    if warning is None and critical is None:
        raise click.UsageError("Give --warning or --critical: without a range this check could never alarm.")
    return Thresholds(_range("--warning", warning, measure), _range("--critical", critical, measure))


def seconds_of(timeout: str) -> float:
    """How long to wait."""
    try:
        seconds = parse_duration(timeout)
    except ValueError as error:
        raise click.UsageError(f"--timeout: {error}.") from None
    if not 0 < seconds <= LONGEST_WAIT:
        raise click.UsageError("--timeout: must be more than 0, and at most 1h.")
    return seconds


def _range(option: str, text: str | None, measure: Measure) -> AlertRange | None:
    try:
        return None if text is None else parse_range(text, measure.read_bound)
    except ValueError as error:
        raise click.UsageError(f"{option}: {error}.") from None
