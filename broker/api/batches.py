"""Many items in one request, as JSON or as JSON lines, each judged and answered on its own."""

from collections.abc import Callable
from typing import TypeVar

from flask import request

from broker.api import reading
from broker.api.problems import STATUS
from broker.domain.errors import BrokerError, Invalid, UnsupportedMediaType, judged

MOST_ITEMS = 1000
BATCH_PAYLOADS = 4
T = TypeVar("T")


def read_items(name: str, largest_payload: int, parse: Callable[[object], T]) -> list[T | BrokerError]:
    """The items of the body's member of this name; what breaks a rule is its own item's refusal."""
    return [judged(raw, parse) for raw in _items(name, BATCH_PAYLOADS * largest_payload)]


def show_refusal(refusal: BrokerError) -> dict[str, object]:
    """Why an item was rejected."""
    errors = {"errors": [found._asdict() for found in refusal.problems]} if isinstance(refusal, Invalid) else {}
    return {
        "status": STATUS[refusal.code][0],
        "code": refusal.code,
        "detail": refusal.detail,
        **refusal.members,
        **errors,
    }


def _items(name: str, most: int) -> list[object]:
    if request.mimetype == "application/x-ndjson":
        found: object = [_line(line) for line in reading.body(most).splitlines() if line.strip()]
    elif request.mimetype == "application/json":
        document = reading.parse_json(reading.body(most))
        _refuse_other_members(document, name)
        found = document.get(name) if isinstance(document, dict) else None
    else:
        raise UnsupportedMediaType("Send application/json or application/x-ndjson.")
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_ITEMS:
        raise Invalid.field(name, f"must be a list of 1 to {MOST_ITEMS} {name}")
    return found


def _refuse_other_members(document: object, name: str) -> None:
    others = [one for one in document if one != name] if isinstance(document, dict) else []
    if others:
        raise Invalid.field(str(others[0]), "is not a field of a batch")


def _line(line: bytes) -> object:
    """A line that is not JSON spoils its own item only."""
    try:
        return reading.parse_json(line)
    except Invalid as refusal:
        return refusal
