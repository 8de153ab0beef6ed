"""What happened to the dead, from checkpoint to checkpoint."""

from dataclasses import dataclass

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.pages import Cursor, Page
from broker.domain.times import parse_time, show_time
from broker.operations.parts import Parts
from broker.store import dlq_lines as store
from broker.store.dlq_lines import Line, Span
from broker.store.dlq_status import Place, places
from broker.store.engine import Connection

PAGE_KEY = store.KEY


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A line, and whose it is."""

    place: Place
    line: Line


def list_history(
    parts: Parts, channel_id: str | None, consumer_id: str | None, span: Span, cursor: Cursor | None, limit: int
) -> Page[HistoryLine]:
    """Of all consumers, or of those asked for, newest first."""

    def work(connection: Connection) -> Page[HistoryLine]:
        found = {one.key: one for one in places(connection, channel_id, consumer_id)}
        page = store.page(connection, list(found), span, cursor, limit)
        return page.map(lambda line: HistoryLine(found[line.consumer_key], line))

    return parts.database.read("list dead-letter history", work)


def parse_span(since: str | None, until: str | None) -> Span:
    """From when to when; every field at fault is named."""
    problems: list[FieldProblem] = []
    moments = []
    for field, text in (("since", since), ("until", until)):
        try:
            moments.append(parse_time(field, text) if text else None)
        except Invalid as refusal:
            problems += refusal.problems
    if problems:
        raise Invalid(problems)
    return Span(*moments)


def show_line(one: HistoryLine) -> dict[str, object]:
    """A line as JSON."""
    counts = one.line._asdict()
    del counts["consumer_key"], counts["checkpoint_at"]
    place = {"channelId": one.place.channel_id, "consumerId": one.place.consumer_id}
    return {**place, "checkpointAt": show_time(one.line.checkpoint_at), **counts}
