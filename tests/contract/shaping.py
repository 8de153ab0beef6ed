"""Turns generated calls to where something happens: most valid ids become known ones, most preconditions are dropped.

What was generated to be wrong is left as it is.
"""

import re
import zlib
from typing import Any, TypeAlias

from schemathesis import Case
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

from tests.contract.world import KNOWN, LATER, SCHEDULED, TOKEN

CONDITIONS = ("If-Match", "If-None-Match", "If-Unmodified-Since")
CURSORS = ("next", "previous")
PLACES = ("channel", "target")
AnyCase: TypeAlias = Case[Any]
RETRY_FIELDS = ("retryPolicy", "maxRetries", "retryBase")
TIMES = ("X-Broker-Scheduled-For", "X-Broker-Expires-At")


def shape(case: AnyCase) -> AnyCase:
    """The same call, where it is valid more often one that reaches something."""
    if _is_valid(case, ParameterLocation.PATH):
        case.path_parameters = _known_ids(case)
    if _is_valid(case, ParameterLocation.HEADER):
        _drop(case.headers, CONDITIONS, _luck(case, "conditions"))
        _drop(case.headers, ("X-Broker-Message-ID",), _luck(case, "id") % 2)
        _reschedule(case)
    if _is_valid(case, ParameterLocation.QUERY):
        _drop(case.query, CURSORS, _luck(case, "cursors"))
        _drop(case.query, PLACES, _luck(case, "places") if case.operation.path.endswith("/replay") else 0)
    if isinstance(case.body, dict):
        _part(case, case.body)
    if _is_linked(case) and case.method == "PUT" and isinstance(case.body, dict):
        case.body["token"] = TOKEN
    return case


def _part(case: AnyCase, body: dict[str, Any]) -> None:
    """Fields that exclude each other hide what is right or wrong with the others; what a case is about stays."""
    about = "" if case.meta is None else case.meta.phase.data.description or ""
    names_jobs = isinstance(body.get("jobs"), list) and not case.operation.path.endswith("/import")
    if names_jobs and _is_valid(case, ParameterLocation.BODY) and _luck(case, "jobs"):
        body["jobs"][:1] = [KNOWN["jobId"]]
    if "wait" in body and _is_valid(case, ParameterLocation.BODY):
        body["wait"] = 0.01
    if case.operation.path.endswith("/replay") and _is_valid(case, ParameterLocation.BODY):
        _drop(body, PLACES, _luck(case, "places"))
    if "retry" in body:
        _drop(body, RETRY_FIELDS if re.search(r"\bretry\b", about) else ("retry",), _luck(case, "retry"))
    for item in body.get("messages", ()) if isinstance(body.get("messages"), list) else ():
        if isinstance(item, dict) and not isinstance(item.get("payload"), str) and "payloadEncoding" not in about:
            _drop(item, ("payloadEncoding",), _luck(case, "encoding"))


def _is_valid(case: AnyCase, location: ParameterLocation) -> bool:
    made = None if case.meta is None else case.meta.components.get(location)
    return made is None or made.mode.is_positive


def _known_ids(case: AnyCase) -> dict[str, Any]:
    if not _luck(case, "ids") or _is_linked(case):
        return dict(case.path_parameters)
    known = {**KNOWN, **({"messageId": SCHEDULED} if "scheduled" in case.operation.path else {})}
    if case.method == "DELETE" or case.operation.path.endswith("/requeue-dead-job"):
        known["jobId"] = known["deadJobId"]
    return {name: known.get(name, value) for name, value in case.path_parameters.items()}


def _is_linked(case: AnyCase) -> bool:
    """Whether it is part of a sequence of linked calls, which brings its own ids."""
    return case.meta is not None and case.meta.phase.name is TestPhase.STATEFUL


def _reschedule(case: AnyCase) -> None:
    """A random time is nearly always in the past, and an expiry nearly always before it."""
    found = [name for name in TIMES if name in case.headers]
    if found and _luck(case, "times"):
        _drop(case.headers, TIMES, 1)
        if "X-Broker-Scheduled-For" in found:
            case.headers["X-Broker-Scheduled-For"] = LATER


def _drop(values: Any, names: tuple[str, ...], luck: int) -> None:
    for name in names if luck else ():
        values.pop(name, None)


def _luck(case: AnyCase, what: str) -> int:
    """0 to 7, from what was generated alone, so that every run does the same."""
    parts = (what, case.path_parameters, case.query, dict(case.headers), case.body)
    return zlib.crc32(repr(parts).encode()) % 8
