"""The fields of what pull clients send: each is parsed by a function of its name and value, or refused."""

from datetime import datetime

from broker.domain.acts import XID_LENGTH
from broker.domain.durations import parse_duration
from broker.domain.failures import LONGEST_TYPE, Category, Failure, Outcome, shortened
from broker.domain.ids import is_xid
from broker.domain.pull_reader import Reader
from broker.domain.pulling import (
    LONGEST_CLIENT_ID,
    LONGEST_LEASE,
    LONGEST_MORE,
    LONGEST_WAIT,
    MOST_JOBS,
    SHORTEST_LEASE,
)
from broker.domain.states import JobStatus
from broker.domain.times import parse_time

STEPS = ("INFLIGHT", "DELIVERED", "DEAD")


def failure(name: str, value: object) -> Failure:
    """`{type, text, category}`, or just the text."""
    fields = {"text": value} if isinstance(value, str) else value
    if not isinstance(fields, dict):
        raise ValueError("must be text, or an object with type, text and category")
    reader = Reader(fields, {"type", "text", "category"}, name + ".")
    found = Failure(
        reader.take("type", error_type, "CLIENT_ERROR"),
        reader.take("category", category, Category.TRANSIENT),
        reader.take("text", text, ""),
    )
    reader.check()
    return found


def next_state(name: str, value: object) -> JobStatus:
    """A state that a client may bring a job into, in any case."""
    if not isinstance(value, str) or value.upper() not in STEPS:
        raise ValueError(f"must be one of {', '.join(STEPS)}")
    return JobStatus[value.upper()]


def more_seconds(name: str, value: object) -> int:
    """Time beyond the usual lease."""
    return whole(value, 0, LONGEST_MORE, "seconds ")


def limit(name: str, value: object) -> int:
    """How many jobs."""
    return whole(value, 1, MOST_JOBS)


def client_id(name: str, value: object) -> str:
    """Who leases, as the client calls itself."""
    return printable(value, LONGEST_CLIENT_ID, "printable characters")


def error_type(name: str, value: object) -> str:
    """A short code of what went wrong."""
    found = printable(value, LONGEST_TYPE, "printable ASCII characters")
    if not found.isascii():
        raise ValueError(f"must be 1 to {LONGEST_TYPE} printable ASCII characters")
    return found


def lease(name: str, value: object) -> float:
    """How long a lease lasts."""
    return _duration(value, SHORTEST_LEASE, LONGEST_LEASE, "1 s to 12 h")


def wait(name: str, value: object) -> float:
    """How long to wait for the first job."""
    return _duration(value, 0.0, LONGEST_WAIT, f"0 to {LONGEST_WAIT:g} s")


def xid(name: str, value: object) -> str:
    """An id that the broker made."""
    if not isinstance(value, str) or not is_xid(value):
        raise ValueError(f"must be an id of {XID_LENGTH} characters that the broker made")
    return value


def outcome(name: str, value: object) -> Outcome:
    """How the work went."""
    if value not in ("ok", "failed"):
        raise ValueError("must be ok or failed")
    return Outcome(str(value))


def flag(name: str, value: object) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def time(name: str, value: object) -> datetime:
    """A moment."""
    if not isinstance(value, str):
        raise ValueError("must be a time like 2030-01-31T12:00:00Z")
    return parse_time(name, value)


def category(name: str, value: object) -> Category:
    """A category as it is stored."""
    if not isinstance(value, str) or value not in Category.__members__:
        raise ValueError(f"must be one of {', '.join(Category)}")
    return Category(value)


def text(name: str, value: object) -> str:
    """What went wrong, for people; as much of it as is kept."""
    if not isinstance(value, str):
        raise ValueError("must be text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("contains characters that are not Unicode") from None
    return shortened(value)


def whole(value: object, low: int, high: int, unit: str = "") -> int:
    """JSON knows one kind of number: 2.0 is whole."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"must be a whole number {'of ' if unit else ''}{unit}from {low} to {high}")
    return value


def printable(value: object, longest: int, what: str) -> str:
    """A text of one line that is not empty."""
    if not isinstance(value, str) or not value.isprintable() or not 1 <= len(value) <= longest:
        raise ValueError(f"must be 1 to {longest} {what}")
    return value


def _duration(value: object, low: float, high: float, limits: str) -> float:
    """A number too large for a float is too long as well."""
    try:
        seconds = parse_duration(value)
    except ValueError:
        seconds = -1.0
    if not low <= seconds <= high:
        raise ValueError(f"must be {limits}: a number of seconds, or a text like 30s")
    return seconds
