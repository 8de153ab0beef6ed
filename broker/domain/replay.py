"""What a replay is asked for: which dead letters of a consumer, how many at most, and to whom they go."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from broker.domain.dead_selection import DeadFilter, parse_dead_filter
from broker.domain.errors import FieldProblem, Invalid
from broker.domain.fingerprints import fingerprint
from broker.domain.names import check_public_id

MOST_REPLAYED = 1_000_000_000
_CONDITIONS = {"since": "diedAfter", "until": "diedBefore", "category": "category", "fingerprint": "fingerprint"}
_NAMES = {field: name for name, field in _CONDITIONS.items()}
REPLAY_FIELDS = (*_CONDITIONS, "channel", "limit", "target", "dryRun")
_TARGET = "must be {channelId, consumerId} or text like channel/consumer"


class Place(NamedTuple):
    """A consumer, as its users name it."""

    channel_id: str
    consumer_id: str


@dataclass(frozen=True, slots=True)
class Replay:
    """All of that; without a target they go back to the consumer that they died at."""

    filter: DeadFilter
    channel: str | None = None
    limit: int | None = None
    target: Place | None = None
    dry_run: bool = False


class DeadLetter(NamedTuple):
    """What a condition of a replay may ask of a dead letter that was moved."""

    failed_at: datetime
    error_type: str
    error_text: str
    category: str | None

    def meets(self, wanted: DeadFilter) -> bool:
        """Whether it meets all of them."""
        if wanted.died_after is not None and self.failed_at < wanted.died_after:
            return False
        if wanted.died_before is not None and self.failed_at > wanted.died_before:
            return False
        if wanted.category is not None and self.category != wanted.category:
            return False
        return wanted.fingerprint in (None, fingerprint(self.error_type, self.error_text))


def parse_replay(raw: Mapping[str, object]) -> Replay:
    """A replay as the API takes it; every field at fault is named. What is not known is refused: without its
    misspelled condition, a replay would be of all."""
    problems = [FieldProblem(name, "is not known") for name in raw if name not in REPLAY_FIELDS]
    texts = {name: _text(name, raw.get(name), problems) for name in (*_CONDITIONS, "channel")}
    limit, dry_run = _limit(raw.get("limit"), problems), raw.get("dryRun")
    if dry_run is not None and not isinstance(dry_run, bool):
        problems.append(FieldProblem("dryRun", "must be true or false"))
    _check_channel(texts["channel"], problems)
    place = None if raw.get("target") is None else _place(raw["target"], problems)
    wanted = _filter({name: text for name, text in texts.items() if name != "channel"}, problems)
    if problems:
        raise Invalid(problems)
    return Replay(wanted, texts["channel"], limit, place, bool(dry_run))


def _text(name: str, value: object, problems: list[FieldProblem]) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value or None
    problems.append(FieldProblem(name, "must be text, and not empty"))
    return None


def _limit(value: object, problems: list[FieldProblem]) -> int | None:
    """JSON knows one kind of number: 5.0 is 5."""
    if value is None:
        return None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    if 1 <= number <= MOST_REPLAYED and number == int(number):
        return int(number)
    problems.append(FieldProblem("limit", f"must be a whole number from 1 to {MOST_REPLAYED}"))
    return None


def _check_channel(channel_id: str | None, problems: list[FieldProblem]) -> None:
    try:
        _ = channel_id and check_public_id("channel", channel_id)
    except Invalid as refusal:
        problems.extend(refusal.problems)


def _filter(given: Mapping[str, str | None], problems: list[FieldProblem]) -> DeadFilter:
    try:
        return parse_dead_filter({_CONDITIONS[name]: text for name, text in given.items() if text is not None})
    except Invalid as refusal:
        problems.extend(FieldProblem(_NAMES[one.field], one.message) for one in refusal.problems)
        return DeadFilter()


def _place(target: object, problems: list[FieldProblem]) -> Place | None:
    ids = target.split("/") if isinstance(target, str) else _ids(target)
    if len(ids) != len(Place._fields) or not all(isinstance(one, str) for one in ids):
        problems.append(FieldProblem("target", _TARGET))
        return None
    try:
        return Place(*(check_public_id("target", str(one)) for one in ids))
    except Invalid as refusal:
        problems.extend(refusal.problems)
        return None


def _ids(target: object) -> list[object]:
    if not isinstance(target, dict) or target.keys() != {"channelId", "consumerId"}:
        return []
    return [target["channelId"], target["consumerId"]]
