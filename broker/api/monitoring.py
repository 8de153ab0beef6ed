"""What monitoring asks about the dead."""

from flask import Blueprint, Response, request

from broker.api import answers, reading
from broker.domain.names import check_public_id
from broker.operations.access import require_monitor
from broker.operations.dlq_status import read_status
from broker.operations.parts import Parts
from broker.operations.show_dlq import show_status


def blueprint(parts: Parts) -> Blueprint:
    """Views for those who watch."""
    views = Blueprint("monitoring", __name__)

    @views.get("/dlq-status")
    def dlq_status() -> Response:
        require_monitor(parts, reading.credentials())
        return answers.as_json(show_status(read_status(parts, *_place())))

    return views


def _place() -> tuple[str | None, str | None]:
    """The channel and consumer that are asked about; all without them."""
    return _given("channel"), _given("consumer")


def _given(field: str) -> str | None:
    value = request.args.get(field)
    return check_public_id(field, value) if value else None
