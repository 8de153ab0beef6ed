"""Sending many lines, and the account of what became of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import click

from broker.cli.backend import Json
from broker.cli.errors import sentence
from broker.cli.lines import Line, in_batches
from broker.cli.output import note, show_json
from broker.cli.payload import progress
from broker.domain.errors import BrokerError, DuplicateMessage
from broker.operations.importing import Imported
from broker.operations.publishing import Published

FIRST_REJECTED = 20
Outcome = Published | Imported | BrokerError
Send = Callable[[Sequence[Json]], Sequence[Outcome]]


@dataclass(slots=True)
class Account:
    """How many lines became what; `known_as` is the word for those that were there already. The first that were
    rejected are named."""

    known_as: str = "duplicates"
    created: int = 0
    known: int = 0
    rejected: int = 0
    rejections: list[tuple[int, BrokerError]] = field(default_factory=list)
    current: tuple[int, int] | None = None

    def enter(self, number: int, outcome: Outcome) -> None:
        """Take in one line."""
        if isinstance(outcome, DuplicateMessage) or (isinstance(outcome, Imported) and not outcome.created):
            self.known += 1
        elif not isinstance(outcome, BrokerError):
            self.created += 1
        else:
            self.rejected += 1
            if self.rejected <= FIRST_REJECTED:
                self.rejections.append((number, outcome))

    def as_json(self) -> Json:
        """For programs."""
        first = [{"line": number, "code": why.code, "detail": why.detail} for number, why in self.rejections]
        counts = {"created": self.created, self.known_as: self.known, "rejected": self.rejected}
        return {**counts, "rejections": first}

    def __str__(self) -> str:
        return f"{self.created} created, {self.known} {self.known_as}, {self.rejected} rejected{self._lines()}"

    def _lines(self) -> str:
        more = self.rejected - len(self.rejections)
        numbers = ", ".join(str(number) for number, _ in self.rejections)
        return f" (lines {numbers}{f' and {more} more' if more else ''})" if numbers else ""


def send(account: Account, batches: Iterable[list[Line]], send_items: Send, sent: Callable[[int], None]) -> None:
    """Send batch by batch; `sent` learns how many bytes of the stream are done."""
    for batch in batches:
        account.current = (batch[0].number, batch[-1].number)
        for line, outcome in zip(batch, _outcomes(batch, send_items), strict=True):
            account.enter(line.number, outcome)
        account.current = None
        sent(sum(line.size for line in batch))


def send_lines(
    account: Account, lines: Iterator[Line], send_items: Send, stream: BinaryIO, label: str, as_json: bool
) -> None:
    """Send all lines of the stream and tell what became of them; exit code 1 when some were rejected."""
    try:
        with progress(stream, label) as sent:
            send(account, in_batches(lines), send_items, sent)
    except BaseException:
        tell_stop(account)
        raise
    tell_rejections(account)
    if as_json:
        show_json(account.as_json())
    else:
        click.echo(str(account))
    click.get_current_context().exit(1 if account.rejected else 0)


def tell_stop(account: Account) -> None:
    """How far it came before something went wrong."""
    where = f" in lines {account.current[0]} to {account.current[1]}" if account.current else ""
    note(f"Stopped{where}. Before that: {account}.")


def tell_rejections(account: Account) -> None:
    """A line for each of the first that were rejected."""
    for number, why in account.rejections:
        note(f"line {number}: {sentence(why)}")


def _outcomes(batch: Sequence[Line], send_items: Send) -> list[Outcome]:
    good = [line.item for line in batch if not isinstance(line.item, BrokerError)]
    outcomes = iter(send_items(good) if good else ())
    return [line.item if isinstance(line.item, BrokerError) else next(outcomes) for line in batch]
