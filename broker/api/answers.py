"""What views answer with."""

import json
from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import quote, urlencode

from flask import Response, request
from werkzeug.http import http_date

from broker.domain.pages import Page, encode_cursor
from broker.domain.registry import Channel, Consumer, Producer, etag

T = TypeVar("T")


def as_json(value: object, status: int = 200) -> Response:
    """A JSON document."""
    return Response(json.dumps(value), status, content_type="application/json")


def entry(shown: object, of: Producer | Channel | Consumer) -> Response:
    """A registry entry with what is needed to change it safely."""
    response = as_json(shown)
    response.headers["ETag"] = etag(of.revision, of.changed_at)
    response.headers["Last-Modified"] = http_date(of.changed_at)
    return response


def page(
    found: Page[T],
    show: Callable[[T], object],
    name: str = "result",
    keeping: Sequence[str] = ("limit", "status", "state"),
) -> Response:
    """What was found, mostly as addresses, and the addresses of the neighbouring pages."""
    keep = {field: value for field in keeping if (value := request.args.get(field)) is not None}
    pages = {
        side: _link({side: encode_cursor(key), **keep})
        for side, key in (("next", found.next), ("previous", found.previous))
        if key
    }
    return as_json({name: [show(row) for row in found.rows], "pages": pages})


def empty(status: int = 204, location: str | None = None) -> Response:
    """Done, and nothing to say but where."""
    response = Response(status=status)
    del response.headers["Content-Type"]
    if location is not None:
        response.headers["Location"] = location
    return response


def _link(query: dict[str, str]) -> str:
    return f"{quote(request.path)}?{urlencode(query)}"
