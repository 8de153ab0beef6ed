"""Pages by key: a cursor is the key of the last row seen, opaque to clients and checked when it comes back."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from broker.domain.errors import Invalid, InvalidCursor
from broker.domain.ids import is_xid
from broker.domain.times import parse_time, show_time

T = TypeVar("T")
U = TypeVar("U")
Key = tuple[int | str | datetime, ...]
DEFAULT_LIMIT, MOST = 25, 100


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where to go on, and in which direction."""

    key: Key
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows in order, and the keys from which the neighbouring pages start."""

    rows: Sequence[T]
    next: Key | None = None
    previous: Key | None = None

    def map(self, change: Callable[[T], U]) -> "Page[U]":
        """The same page with other rows."""
        return Page([change(row) for row in self.rows], self.next, self.previous)


def parse_limit(text: str | None) -> int:
    """How many rows a page shall have."""
    if text is None:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= MOST):
        raise Invalid.field("limit", f"must be a whole number from 1 to {MOST}")
    return int(text)


def encode_cursor(key: Key) -> str:
    """A key as text that fits into an address."""
    values = [show_time(part) if isinstance(part, datetime) else part for part in key]
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def decode_cursor(text: str, shape: Sequence[type]) -> Key:
    """The key in a cursor; what this broker did not make is refused."""
    try:
        values = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        raise _forged() from None
    if not isinstance(values, list) or len(values) != len(shape):
        raise _forged()
    key = tuple(_part(value, kind) for value, kind in zip(values, shape, strict=True))
    if encode_cursor(key) != text:
        raise _forged()
    return key


def _part(value: object, kind: type) -> int | str | datetime:
    if kind is int and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    if kind is str and isinstance(value, str) and is_xid(value):
        return value
    if kind is datetime and isinstance(value, str):
        try:
            return parse_time("cursor", value)
        except Invalid:
            raise _forged() from None
    raise _forged()


def _forged() -> InvalidCursor:
    return InvalidCursor("The cursor was not made by this broker. Follow the addresses in pages as they are.")
