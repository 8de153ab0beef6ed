"""What came of a delivery: an answer, or a failure of one of six categories."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

LONGEST_TEXT = 1000
LONGEST_TYPE = 64
LONGEST_RETRY_AFTER = 86_400.0
RESULT_HEADER = "x-broker-result"


class Category(StrEnum):
    """What kind of failure it is; decides whether trying again can help."""

    TRANSIENT = "TRANSIENT"
    NETWORK = "NETWORK"
    RESOURCE = "RESOURCE"
    PERMISSION = "PERMISSION"
    VALIDATION = "VALIDATION"
    PERMANENT = "PERMANENT"


NEVER_RETRIED = frozenset({Category.PERMISSION, Category.VALIDATION, Category.PERMANENT})


class Outcome(StrEnum):
    """How a delivered job was answered."""

    OK = "ok"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answered:
    """The consumer took the job; `failed` when it says that its own work went wrong."""

    outcome: Outcome = Outcome.OK
    text: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The job was not taken."""

    type: str
    category: Category
    text: str
    retry_after: float | None = None
    gone: bool = False


OK = Answered()
_TRANSIENT = frozenset({404, 408, 409, 423, 425, 429})
_RESOURCE = frozenset({413, 507})
_PERMISSION = frozenset({401, 403, 407})
_NETWORK_TYPES = frozenset({"CONNECT", "DNS", "TLS", "TIMEOUT", "BROKEN", "LEASE_EXPIRED"})


def category_of_status(status: int) -> Category:
    """The category of an HTTP status that is not 2xx."""
    if status in _RESOURCE:
        return Category.RESOURCE
    if status in _TRANSIENT or 500 <= status <= 599:
        return Category.TRANSIENT
    if status in _PERMISSION:
        return Category.PERMISSION
    return Category.VALIDATION if 400 <= status <= 499 and status != 410 else Category.PERMANENT


def category_of_type(error_type: str) -> Category:
    """The category of an error that was not an HTTP answer; what nothing matches is PERMANENT."""
    return Category.NETWORK if error_type in _NETWORK_TYPES else Category.PERMANENT


def network_failure(error_type: str, text: str) -> Failure:
    """A delivery that got no answer."""
    return Failure(error_type, category_of_type(error_type), shortened(text))


def read_answer(
    status: int, headers: Mapping[str, str], body: bytes, moment: datetime, reads_body: bool = False
) -> Answered | Failure:
    """What an HTTP answer means; header names are lower case, `body` is its first part."""
    if 200 <= status <= 299:
        if headers.get(RESULT_HEADER, "").strip().lower() == "failed" or (reads_body and _says_failed(body)):
            return Answered(Outcome.FAILED, shortened(_decoded(body)))
        return OK
    text = f"HTTP {status} {_decoded(body)}".strip()
    wait = parse_retry_after(headers.get("retry-after", ""), moment)
    return Failure(f"HTTP_{status}", category_of_status(status), shortened(text), wait, gone=status == 410)


def parse_retry_after(text: str, moment: datetime) -> float | None:
    """Seconds or an HTTP date; None when it says nothing that can be understood."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(float(text.lstrip("0")[:12] or "0"), LONGEST_RETRY_AFTER)
    try:
        then = parsedate_to_datetime(text)
        ahead = ((then if then.tzinfo else then.replace(tzinfo=UTC)) - moment).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, ahead), LONGEST_RETRY_AFTER)


def shortened(text: str) -> str:
    """As much of an error as is kept, without what a database or a terminal cannot show."""
    return "".join(one if one.isprintable() or one == "\n" else " " for one in text[:LONGEST_TEXT])


def _decoded(body: bytes) -> str:
    return body[: 4 * LONGEST_TEXT].decode("utf-8", "replace")


def _says_failed(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("success") is False


LEASE_EXPIRED = network_failure("LEASE_EXPIRED", "The lease ended before the job was answered.")
