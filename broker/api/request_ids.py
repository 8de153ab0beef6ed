"""X-Request-ID in and out: the caller's when it is usable, else a new one."""

import re

from flask import Flask, Response, g, request

from broker.domain.ids import XidFactory

HEADER = "X-Request-ID"
_USABLE = re.compile(r"[\x21-\x7e]{1,128}")


def init_app(app: Flask, ids: XidFactory) -> None:
    """Give every request an id and echo it."""

    @app.before_request
    def _take() -> None:
        given = request.headers.get(HEADER, "")
        g.request_id = given if _USABLE.fullmatch(given) else ids.new()

    @app.after_request
    def _echo(response: Response) -> Response:
        response.headers[HEADER] = g.get("request_id") or ids.new()
        return response
