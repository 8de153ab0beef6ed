"""What views read from a request: credentials, bodies, conditions, pages. Sizes are limited before anything is read."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from flask import request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_date

from broker.domain.errors import Invalid, InvalidCursor, LengthRequired, TooLarge, UnsupportedMediaType
from broker.domain.pages import Cursor, decode_cursor, parse_limit
from broker.domain.preconditions import Preconditions
from broker.operations.access import Credentials

REGISTRY_BODY_BYTES = 100_000
SWALLOWED_BYTES, CHUNK_BYTES = 10_000_000, 65_536
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-IP")


def credentials() -> Credentials:
    """What the caller showed."""
    return Credentials(
        bearer=_bearer(),
        channel_token=header("X-Broker-Channel-Token"),
        producer_id=header("X-Broker-Producer-ID"),
        producer_token=header("X-Broker-Producer-Token"),
        consumer_token=header("X-Broker-Consumer-Token"),
        local=_is_local(),
    )


def header(name: str) -> str | None:
    """A header as Unicode; None when it is missing or empty."""
    value = request.headers.get(name)
    if not value:
        return None
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        raise Invalid.field(name, "must be UTF-8") from None


def body(most: int, keep: bool = False) -> bytes:
    """The whole body, at most so many bytes, and all that were announced."""
    if "Transfer-Encoding" in request.headers:
        raise LengthRequired(
            "Send the body with a Content-Length: one in chunks that breaks off looks like a whole one."
        )
    length = request.content_length or 0
    if length > most:
        _read_away(length)
        raise TooLarge(f"The body is larger than {most} bytes, the most that is accepted here.")
    data = request.get_data(cache=keep)
    if len(data) < length:
        raise Invalid.field("body", "ended before the length that was announced; nothing was stored")
    return data


def _read_away(size: int) -> None:
    """A client that is still sending when the connection closes would not see the refusal; one that asks first does."""
    if size > SWALLOWED_BYTES or "Expect" in request.headers:
        return
    while size > 0 and (data := request.stream.read(min(size, CHUNK_BYTES))):
        size -= len(data)


def fields(form_fields: Sequence[str]) -> dict[str, object]:
    """The fields of a PUT, from a form or from JSON; an empty body has none."""
    request.max_form_memory_size = REGISTRY_BODY_BYTES
    if request.mimetype in _FORMS:
        return _form(form_fields)
    data = body(REGISTRY_BODY_BYTES)
    if not data:
        return {}
    if request.mimetype != "application/json":
        raise UnsupportedMediaType("Send a form (application/x-www-form-urlencoded) or application/json.")
    found = parse_json(data)
    if not isinstance(found, dict):
        raise Invalid.field("body", "must be a JSON object")
    return found


def document(most: int) -> dict[str, Any]:
    """A JSON object; an empty body is an empty one."""
    data = body(most)
    if not data:
        return {}
    if request.mimetype not in ("application/json", ""):
        raise UnsupportedMediaType("Send application/json.")
    found = parse_json(data)
    if not isinstance(found, dict):
        raise Invalid.field("body", "must be a JSON object")
    return found


def parse_json(data: bytes) -> Any:
    """Strict JSON: UTF-8, no NaN, no number too large to keep."""
    try:
        return json.loads(data.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Invalid.field("body", "is not JSON") from None


def preconditions() -> Preconditions:
    """If-Match, If-None-Match and If-Unmodified-Since."""
    match = tuple(part.strip() for part in request.headers.get("If-Match", "").split(",") if part.strip())
    return Preconditions(match, must_be_new=_must_be_new(), unmodified_since=_unmodified_since())  # type: ignore[arg-type]


def flag(name: str) -> bool:
    """A query parameter that is true or false."""
    value = request.args.get(name, "false").lower()
    if value not in {"true", "false", "1", "0"}:
        raise Invalid.field(name, "must be true or false")
    return value in {"true", "1"}


def page(shape: Sequence[type]) -> tuple[Cursor | None, int]:
    """Where to go on and how many rows to show."""
    limit = parse_limit(request.args.get("limit"))
    following, before = request.args.get("next"), request.args.get("previous")
    if following and before:
        raise InvalidCursor("Give next or previous, not both.")
    if following or before:
        return Cursor(decode_cursor(str(following or before), shape), backwards=bool(before)), limit
    return None, limit


def _form(allowed: Sequence[str]) -> dict[str, object]:
    body(REGISTRY_BODY_BYTES, keep=True)
    try:
        form = request.form
    except RequestEntityTooLarge:
        raise TooLarge("The form has too many parts.") from None
    for name in (*form, *request.files):
        if name not in allowed:
            raise Invalid.field(name, "is not a field of this form; send JSON for the other settings")
    return {name: value for name, value in form.items() if value or name == "type"}


def _bearer() -> str | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _is_local() -> bool:
    if any(name in request.headers for name in _FORWARDED):
        return False
    return _is_loopback(request.remote_addr or "")


@lru_cache(maxsize=1024)
def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _must_be_new() -> bool:
    value = request.headers.get("If-None-Match", "")
    if value not in ("", "*"):
        raise Invalid.field("If-None-Match", "can only be *")
    return value == "*"


def _unmodified_since() -> object:
    text = request.headers.get("If-Unmodified-Since")
    if not text:
        return None
    try:
        moment = parse_date(text)
        return moment.astimezone(UTC)  # type: ignore[union-attr]
    except (AttributeError, OverflowError):
        raise Invalid.field("If-Unmodified-Since", "must be an HTTP date like Tue, 15 Nov 2030 12:45:26 GMT") from None


def _refuse_constant(name: str) -> Callable[[], None]:
    raise ValueError(name)
