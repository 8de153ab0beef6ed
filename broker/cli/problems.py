"""Problem documents of the API, back as the errors that they were."""

from collections.abc import Mapping
from typing import Any

from broker.domain.errors import BrokerError, FieldProblem, Forbidden, Invalid, Unauthorized, Unavailable

_KINDS = {kind.code: kind for kind in BrokerError.__subclasses__()}
_STANDARD = frozenset({"type", "title", "status", "detail", "code", "requestId", "errors"})


def refusal_of(document: Mapping[str, Any], hint: str = "") -> BrokerError:
    """The error a problem document tells of; `hint` is for those whose credentials are missing or wrong."""
    kind, detail = _KINDS.get(document["code"]), str(document.get("detail", ""))
    if kind is Invalid:
        return Invalid(_field_problems(document) or [FieldProblem("request", detail)])
    if kind is None:
        return _unknown(document["code"])(f"{detail} (request id {document.get('requestId')})")
    if kind in (Unauthorized, Forbidden):
        detail = f"{detail} {hint}".strip()
    return kind(detail, **{name: value for name, value in document.items() if name not in _STANDARD})


def with_advice(refusal: BrokerError, advice: str) -> BrokerError:
    """What cannot be served now may be asked again."""
    return Unavailable(f"{refusal.detail} {advice}") if isinstance(refusal, Unavailable) else refusal


def _unknown(code: str) -> type[BrokerError]:
    """What this program has no name for: an error inside the broker, or a code of a newer one."""
    return type("UnknownRefusal", (BrokerError,), {"code": code})


def _field_problems(document: Mapping[str, Any]) -> list[FieldProblem]:
    return [FieldProblem(found["field"], found["message"]) for found in document.get("errors", [])]
