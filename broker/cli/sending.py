"""Sending many lines, and the account of what became of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from broker.cli.backend import Json
from broker.cli.errors import sentence
from broker.cli.lines import Line
from broker.cli.output import note
from broker.domain.errors import BrokerError, DuplicateMessage
from broker.operations.publishing import Outcome, Published

FIRST_REJECTED = 20
Publish = Callable[[Sequence[Json]], list[Outcome]]


@dataclass(slots=True)
class Account:
    """How many lines became what; the first that were rejected are named."""

    created: int = 0
    duplicates: int = 0
    rejected: int = 0
    rejections: list[tuple[int, BrokerError]] = field(default_factory=list)
    current: tuple[int, int] | None = None

    def enter(self, number: int, outcome: Outcome) -> None:
        """Take in one line."""
        if isinstance(outcome, Published):
            self.created += 1
        elif isinstance(outcome, DuplicateMessage):
            self.duplicates += 1
        else:
            self.rejected += 1
            if self.rejected <= FIRST_REJECTED:
                self.rejections.append((number, outcome))

    def as_json(self) -> Json:
        """For programs."""
        first = [{"line": number, "code": why.code, "detail": why.detail} for number, why in self.rejections]
        counts = {"created": self.created, "duplicates": self.duplicates, "rejected": self.rejected}
        return {**counts, "rejections": first}

    def __str__(self) -> str:
        return f"{self.created} created, {self.duplicates} duplicates, {self.rejected} rejected{self._lines()}"

    def _lines(self) -> str:
        more = self.rejected - len(self.rejections)
        numbers = ", ".join(str(number) for number, _ in self.rejections)
        return f" (lines {numbers}{f' and {more} more' if more else ''})" if numbers else ""


def send(account: Account, batches: Iterable[list[Line]], publish: Publish, sent: Callable[[int], None]) -> None:
    """Publish batch by batch; `sent` learns how many bytes of the stream are done."""
    for batch in batches:
        account.current = (batch[0].number, batch[-1].number)
        for line, outcome in zip(batch, _publish(batch, publish), strict=True):
            account.enter(line.number, outcome)
        account.current = None
        sent(sum(line.size for line in batch))


def tell_stop(account: Account) -> None:
    """How far it came before something went wrong."""
    where = f" in lines {account.current[0]} to {account.current[1]}" if account.current else ""
    note(f"Stopped{where}. Before that: {account}.")


def tell_rejections(account: Account) -> None:
    """A line for each of the first that were rejected."""
    for number, why in account.rejections:
        note(f"line {number}: {sentence(why)}")


def _publish(batch: Sequence[Line], publish: Publish) -> list[Outcome]:
    good = [line.item for line in batch if not isinstance(line.item, BrokerError)]
    outcomes = iter(publish(good) if good else ())
    return [line.item if isinstance(line.item, BrokerError) else next(outcomes) for line in batch]
