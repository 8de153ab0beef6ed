"""Work on many dead jobs, followed and stopped over HTTP; and the audit of their count."""

from flask import Blueprint, Response

from broker.api import answers, reading
from broker.api.opening import opened
from broker.dlq.auditor import Auditor
from broker.dlq.show_audit import show_audit
from broker.domain.errors import FieldProblem, Invalid
from broker.operations import bulk
from broker.operations.access import require_admin
from broker.operations.parts import Parts
from broker.operations.show_dlq import show_operation

_OPERATION = "/channel/<channel_id>/consumer/<consumer_id>/operation/<operation_id>"


def blueprint(parts: Parts) -> Blueprint:
    """All views of operations."""
    views = Blueprint("operations", __name__)
    _of_a_consumer(views, parts)
    _of_the_admin(views, parts)
    return views


def _of_a_consumer(views: Blueprint, parts: Parts) -> None:
    @views.get(_OPERATION)
    def get_operation(channel_id: str, consumer_id: str, operation_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        return answers.as_json(show_operation(bulk.get_operation(parts, operation_id, consumer)))

    @views.post(f"{_OPERATION}/cancel")
    def cancel_operation(channel_id: str, consumer_id: str, operation_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        found = bulk.get_operation(parts, operation_id, consumer)
        return answers.as_json(show_operation(bulk.cancel(parts, found.id)))


def _of_the_admin(views: Blueprint, parts: Parts) -> None:
    @views.get("/admin/operations")
    def list_operations() -> Response:
        require_admin(parts, reading.credentials())
        return answers.page(bulk.list_operations(parts, *reading.page(bulk.PAGE_KEY)), show_operation)

    @views.post("/admin/dlq/audit")
    def audit_dead_letters() -> Response:
        require_admin(parts, reading.credentials())
        return answers.as_json(show_audit(parts, Auditor(parts).run(_repair())))


def _repair() -> bool:
    found = reading.document(reading.REGISTRY_BODY_BYTES)
    problems = [FieldProblem(name, "is not known") for name in found if name != "repair"]
    repair = found.get("repair", False)
    if not isinstance(repair, bool):
        problems.append(FieldProblem("repair", "must be true or false"))
    if problems:
        raise Invalid(problems)
    return bool(repair)
