"""A message of a batch, as JSON spells it."""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.messages import DEFAULT_CONTENT_TYPE, Publication
from broker.domain.times import parse_time

T = TypeVar("T")
FIELDS = frozenset(
    {
        "payload",
        "payloadEncoding",
        "contentType",
        "messageId",
        "priority",
        "scheduledFor",
        "expiresAt",
        "headers",
        "metadata",
        "hopCount",
    }
)


def parse_item(raw: object) -> Publication:
    """A checked publication; raises Invalid that names every field at fault."""
    if not isinstance(raw, dict):
        raise Invalid.field("message", "must be an object")
    if not raw.keys() <= FIELDS:
        raise Invalid([FieldProblem(name, "is not a field of a message") for name in raw if name not in FIELDS])
    publication = _publication(raw)
    publication.check({})
    return publication


def _publication(raw: Mapping[str, Any]) -> Publication:
    payload, content_type = _payload(raw)
    return Publication(
        payload=payload,
        content_type=_optional(raw, "contentType", _text, content_type),
        message_id=_optional(raw, "messageId", _text, None),
        priority=_optional(raw, "priority", _integer, 0),
        scheduled_for=_optional(raw, "scheduledFor", _time, None),
        expires_at=_optional(raw, "expiresAt", _time, None),
        headers=_optional(raw, "headers", _headers, None),
        metadata=_optional(raw, "metadata", _object, None),
        hop_count=_optional(raw, "hopCount", _integer, 0),
    )


def _payload(raw: Mapping[str, Any]) -> tuple[bytes, str]:
    """Text or base64; any other JSON value is sent as JSON."""
    payload, encoding = raw.get("payload", ""), raw.get("payloadEncoding", "utf-8")
    if encoding not in ("utf-8", "base64"):
        raise Invalid.field("payloadEncoding", "must be utf-8 or base64")
    if isinstance(payload, str):
        return (_base64(payload) if encoding == "base64" else _utf8(payload)), DEFAULT_CONTENT_TYPE
    if "payloadEncoding" in raw:
        raise Invalid.field("payload", "must be text when payloadEncoding is given")
    return _utf8(_json(payload)), "application/json"


def _json(payload: object) -> str:
    try:
        return json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        raise Invalid.field("payload", "is nested too deep, or contains a number that JSON cannot hold") from None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid.field("payload", "is not base64") from None


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Invalid.field("payload", "contains characters that are not Unicode; use payloadEncoding base64") from None


def _optional(raw: Mapping[str, Any], name: str, parse: Callable[[str, Any], T], otherwise: T) -> T:
    value = raw.get(name)
    return otherwise if value is None else parse(name, value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise Invalid.field(name, "must be text")
    return value


def _integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Invalid.field(name, "must be a whole number")
    return value


def _time(name: str, value: object) -> datetime | None:
    return parse_time(name, _text(name, value))


def _object(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise Invalid.field(name, "must be an object")
    return value


def _headers(name: str, value: object) -> Mapping[str, str]:
    headers = _object(name, value)
    for key, text in headers.items():
        _text(f"{name}.{key}", text)
    return {key: str(text) for key, text in headers.items()}
