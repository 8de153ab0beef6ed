"""Refusals as RFC 9457 problem documents: one table of codes and statuses."""

import json
import logging

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from broker.domain.errors import BrokerError, Invalid

log = logging.getLogger(__name__)
RETRY_AFTER_SECONDS = 2

STATUS = {
    "invalid-request": (400, "The request is not valid"),
    "invalid-cursor": (400, "The cursor is not valid"),
    "unauthorized": (401, "Credentials are missing"),
    "forbidden": (403, "Credentials are wrong"),
    "not-found": (404, "There is no such thing"),
    "method-not-allowed": (405, "The method is not allowed here"),
    "duplicate-message": (409, "The message id is taken"),
    "unfinished-jobs": (409, "There are unfinished jobs"),
    "in-use": (409, "It is in use"),
    "not-deletable": (409, "It can no longer be deleted"),
    "not-dead": (409, "It is not dead"),
    "length-required": (411, "The body's length is missing"),
    "precondition-failed": (412, "It was changed in the meantime"),
    "not-pull": (412, "The consumer does not pull"),
    "too-soon": (412, "It is scheduled too soon"),
    "too-large": (413, "It is too large"),
    "unsupported-media-type": (415, "The media type is not supported"),
    "internal": (500, "Something is wrong with the broker"),
    "unavailable": (503, "The broker cannot serve now"),
}
_CODE_OF_STATUS = {
    400: "invalid-request",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    415: "unsupported-media-type",
}


def init_app(app: Flask) -> None:
    """Every error leaves as a problem."""
    app.register_error_handler(BrokerError, _refused)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unexpected)


def problem(code: str, detail: str, **members: object) -> Response:
    """A problem document with its status."""
    status, title = STATUS[code]
    body = {"type": f"urn:broker:problem:{code}", "title": title, "status": status, "detail": detail, "code": code,
            "requestId": g.get("request_id", ""), **members}  # fmt: skip
    response = Response(json.dumps(body), status, content_type="application/problem+json")
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="broker"'
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _refused(error: BrokerError) -> Response:
    members = dict(error.members)
    if isinstance(error, Invalid):
        members["errors"] = [found._asdict() for found in error.problems]
    response = problem(error.code, error.detail, **members)
    if "location" in members:
        response.headers["Location"] = str(members["location"])
    return response


def _http_error(error: HTTPException) -> Response:
    """What Flask itself refuses: no route, wrong method, too large."""
    code = _CODE_OF_STATUS.get(error.code or 500, "internal" if (error.code or 500) >= 500 else "invalid-request")
    response = problem(code, error.description or "")
    for name, value in error.get_headers():
        if name == "Allow":
            response.headers[name] = value
    return response


def _unexpected(error: Exception) -> Response:
    log.exception("request %s %s failed (request id %s)", request.method, request.path, g.get("request_id", ""))
    return problem(
        "internal", "The broker met an error that it did not expect. Its log has the details under this request id."
    )
