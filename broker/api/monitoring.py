"""What monitoring asks about the dead."""

from flask import Blueprint, Response, request

from broker.api import answers, reading
from broker.domain.exposition import CONTENT_TYPE
from broker.domain.names import check_public_id
from broker.operations.access import require_monitor
from broker.operations.dlq_history import PAGE_KEY, list_history, parse_span, show_line
from broker.operations.dlq_measures import status_text
from broker.operations.dlq_statistics import read_statistics, show_statistics
from broker.operations.dlq_status import read_status_now
from broker.operations.job_status import read_job_status, show_job_status
from broker.operations.parts import Parts
from broker.operations.show_dlq import show_status


def blueprint(parts: Parts) -> Blueprint:
    """Views for those who watch."""
    views = Blueprint("monitoring", __name__)

    @views.get("/dlq-status")
    def dlq_status() -> Response:
        require_monitor(parts, reading.credentials())
        if _wants_text():
            return Response(status_text(parts, *_place()), content_type=CONTENT_TYPE)
        return answers.as_json(show_status(read_status_now(parts, *_place())))

    @views.get("/job-status")
    def job_status() -> Response:
        require_monitor(parts, reading.credentials())
        return answers.as_json(show_job_status(read_job_status(parts, *_place())))

    @views.get("/dlq-stats")
    def dlq_stats() -> Response:
        require_monitor(parts, reading.credentials())
        return answers.as_json(show_statistics(read_statistics(parts, *_place())))

    @views.get("/dlq-history")
    def dlq_history() -> Response:
        require_monitor(parts, reading.credentials())
        span = parse_span(request.args.get("since"), request.args.get("until"))
        found = list_history(parts, *_place(), span, *reading.page(PAGE_KEY))
        return answers.page(found, show_line, "history", ("limit", "channel", "consumer", "since", "until"))

    return views


def _wants_text() -> bool:
    """Whether the caller would rather have what Prometheus takes than JSON."""
    wanted = request.accept_mimetypes
    text = max((quality for kind, quality in wanted if kind.partition(";")[0] == "text/plain"), default=0)
    return text > wanted["application/json"]


def _place() -> tuple[str | None, str | None]:
    """The channel and consumer that are asked about; all without them."""
    return _given("channel"), _given("consumer")


def _given(field: str) -> str | None:
    value = request.args.get(field)
    return check_public_id(field, value) if value else None
