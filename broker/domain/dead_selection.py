"""Which of a consumer's dead are meant, and what is to be done with them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.failures import Category
from broker.domain.states import DeadReason
from broker.domain.times import parse_time, show_time

LONGEST_TEXT = 200


class DeadAct(StrEnum):
    """What becomes of dead jobs."""

    REQUEUE = "requeue"
    DELETE = "delete"
    ARCHIVE = "archive"
    MOVE = "move"
    REPLAY = "replay"


class OperationState(StrEnum):
    """Where an operation on many jobs is."""

    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class DeadFilter:
    """Conditions that a dead job must meet, all of them."""

    category: Category | None = None
    reason: DeadReason | None = None
    error_type: str | None = None
    text: str | None = None
    fingerprint: str | None = None
    died_after: datetime | None = None
    died_before: datetime | None = None

    def to_json(self) -> dict[str, str]:
        """What is set, as the API takes it."""
        values = {_NAMES[one.name]: getattr(self, one.name) for one in fields(self)}
        return {
            name: show_time(value) if isinstance(value, datetime) else str(value)
            for name, value in values.items()
            if value is not None
        }


_NAMES = {
    "category": "category",
    "reason": "reason",
    "error_type": "errorType",
    "text": "text",
    "fingerprint": "fingerprint",
    "died_after": "diedAfter",
    "died_before": "diedBefore",
}
FILTER_FIELDS = tuple(_NAMES.values())


def parse_dead_filter(raw: Mapping[str, str]) -> DeadFilter:
    """Conditions as the API takes them; every field at fault is named, others are passed over."""
    problems: list[FieldProblem] = []
    values: dict[str, Any] = {}
    for name, field in _NAMES.items():
        text = raw.get(field)
        if text:
            values[name] = _parsed(name, field, text, problems)
    if problems:
        raise Invalid(problems)
    return DeadFilter(**values)


def _parsed(name: str, field: str, text: str, problems: list[FieldProblem]) -> object:
    choices = {"category": Category, "reason": DeadReason}.get(name)
    if choices is not None:
        return _chosen(choices, field, text, problems)
    if name.startswith("died_"):
        return _moment(field, text, problems)
    if len(text) > LONGEST_TEXT:
        problems.append(FieldProblem(field, f"must have at most {LONGEST_TEXT} characters"))
    if name != "text" and not text.isascii():
        problems.append(FieldProblem(field, "must be ASCII"))
    return text


def _chosen(choices: type[StrEnum], field: str, text: str, problems: list[FieldProblem]) -> StrEnum | None:
    if text in list(choices):
        return choices(text)
    problems.append(FieldProblem(field, f"must be one of {', '.join(choices)}"))
    return None


def _moment(field: str, text: str, problems: list[FieldProblem]) -> datetime | None:
    try:
        return parse_time(field, text)
    except Invalid as refusal:
        problems.extend(refusal.problems)
        return None
