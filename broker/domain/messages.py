"""A message as a producer hands it in, checked field by field."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.names import check_public_id
from broker.domain.setting_types import JsonValue

DEFAULT_CONTENT_TYPE = "application/octet-stream"
LONGEST_CONTENT_TYPE = 255
MOST_HEADERS = 50
LARGEST_HEADERS = 16_384
LARGEST_METADATA = 16_384
DEEPEST_METADATA = 50
MOST_HOPS = 1_000_000
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")
_CONTENT_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+ *(;[\x20-\x7e]*)?")
_OURS = ("x-broker-", "webhook-", "content-", "transfer-", "proxy-")
_RESERVED = frozenset(
    {"host", "connection", "keep-alive", "user-agent", "expect", "te", "upgrade", "trailer", "x-request-id"}
)


class Publication(NamedTuple):
    """What a producer wants delivered."""

    payload: bytes
    content_type: str = DEFAULT_CONTENT_TYPE
    message_id: str | None = None
    priority: int = 0
    scheduled_for: datetime | None = None
    expires_at: datetime | None = None
    headers: Mapping[str, str] | None = None
    metadata: Mapping[str, object] | None = None
    hop_count: int = 0
    overrides: Mapping[str, JsonValue] | None = None

    def check(self, names: Mapping[str, str]) -> None:
        """Every rule at once; `names` says what the caller's face calls each field."""
        problems = [FieldProblem(names.get(field, field), text) for field, text in self._found() if text is not None]
        if self.message_id is not None:
            _gather(problems, names.get("messageId", "messageId"), self.message_id)
        if problems:
            raise Invalid(problems)

    def _found(self) -> Iterator[tuple[str, str | None]]:
        """What each rule says; the common message has nothing to say to most of them."""
        yield "contentType", _content_type_problem(self.content_type)
        if self.priority:
            yield "priority", _priority_problem(self.priority)
        if self.headers:
            yield "headers", headers_problem(self.headers)
        if self.metadata is not None:
            yield "metadata", _metadata_problem(self.metadata)
        if self.hop_count:
            yield "hopCount", _hops_problem(self.hop_count)
        if self.expires_at is not None:
            yield "expiresAt", self._expiry_problem()

    def _expiry_problem(self) -> str | None:
        if self.scheduled_for is not None and self.expires_at is not None and self.expires_at <= self.scheduled_for:
            return "must be later than the time the message is scheduled for"
        return None


def headers_problem(headers: Mapping[str, str]) -> str | None:
    """Carried headers: real header names and values, and none that the broker itself sets."""
    if len(headers) > MOST_HEADERS or sum(len(n) + len(v) for n, v in headers.items()) > LARGEST_HEADERS:
        return f"are too many: at most {MOST_HEADERS} names and {LARGEST_HEADERS} characters in all"
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or not _encodable(value):
            return f"{name!r} is not a header that can be sent"
        if is_reserved_header(name):
            return f"{name} is set by the broker and cannot be carried along"
    return None


def is_reserved_header(name: str) -> bool:
    """Whether the broker, or HTTP itself, owns this header; many servers take `_` for `-`."""
    low = name.lower().replace("_", "-")
    return low in _RESERVED or low.startswith(_OURS)


def _gather(problems: list[FieldProblem], field: str, message_id: str) -> None:
    try:
        check_public_id(field, message_id)
    except Invalid as error:
        problems += error.problems


def _priority_problem(priority: int) -> str | None:
    return None if 0 <= priority <= 9 else "must be a whole number from 0 (last) to 9 (first)"


def _hops_problem(hops: int) -> str | None:
    return None if 0 <= hops <= MOST_HOPS else f"must be a whole number from 0 to {MOST_HOPS}"


@lru_cache(maxsize=256)
def _content_type_problem(content_type: str) -> str | None:
    if len(content_type) > LONGEST_CONTENT_TYPE or not _CONTENT_TYPE.fullmatch(content_type):
        return f"must be a media type like application/json, of at most {LONGEST_CONTENT_TYPE} characters"
    return None


def _metadata_problem(metadata: Mapping[str, object]) -> str | None:
    if _is_deeper(metadata, DEEPEST_METADATA):
        return f"is nested more than {DEEPEST_METADATA} deep"
    try:
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return "contains a number that JSON cannot hold"
    if len(text) > LARGEST_METADATA:
        return f"is larger than {LARGEST_METADATA} characters"
    return None if _encodable(text) else "contains characters that are not Unicode"


def _is_deeper(value: object, levels: int) -> bool:
    """Whether it is nested deeper; the answer itself never goes deeper than asked."""
    if not isinstance(value, Mapping | list):
        return False
    inner = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in inner)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
