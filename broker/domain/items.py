"""A message of a batch, as JSON spells it."""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.messages import DEFAULT_CONTENT_TYPE, Publication
from broker.domain.overrides import parse_message_overrides
from broker.domain.setting_types import JsonValue
from broker.domain.times import parse_time


def parse_item(raw: object) -> Publication:
    """A checked publication; raises Invalid that names every field at fault."""
    if not isinstance(raw, dict):
        raise Invalid.field("message", "must be an object")
    if not raw.keys() <= FIELDS:
        raise Invalid([FieldProblem(name, "is not a field of a message") for name in raw if name not in FIELDS])
    publication = Publication(**_values(raw))
    publication.check({})
    return publication


def _values(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Every field that was given, parsed; null is as good as not given."""
    problems: list[FieldProblem] = []
    values: dict[str, Any] = {}
    for name, value in raw.items():
        try:
            if name in PARSERS and value is not None:
                attribute, parse = PARSERS[name]
                values[attribute] = parse(name, value)
        except Invalid as refusal:
            problems += refusal.problems
    try:
        values["payload"], content_type = _payload(raw)
        values.setdefault("content_type", content_type)
    except Invalid as refusal:
        problems += refusal.problems
    if problems:
        raise Invalid(problems)
    return values


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


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise Invalid.field(name, "must be text")
    return value


def _integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Invalid.field(name, "must be a whole number")
    return value


def _time(name: str, value: object) -> datetime:
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


def _overrides(name: str, value: object) -> Mapping[str, JsonValue] | None:
    return parse_message_overrides(value, name)


PARSERS: Mapping[str, tuple[str, Callable[[str, Any], object]]] = {
    "contentType": ("content_type", _text),
    "messageId": ("message_id", _text),
    "priority": ("priority", _integer),
    "scheduledFor": ("scheduled_for", _time),
    "expiresAt": ("expires_at", _time),
    "headers": ("headers", _headers),
    "metadata": ("metadata", _object),
    "hopCount": ("hop_count", _integer),
    "overrides": ("overrides", _overrides),
}
FIELDS = PARSERS.keys() | {"payload", "payloadEncoding"}
