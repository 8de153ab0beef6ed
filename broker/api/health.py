"""Whether the process lives, whether it can serve, what it is, and how its API is described."""

from flask import Blueprint, Response

from broker.api import answers, reading
from broker.operations.access import require_monitor
from broker.operations.parts import Parts
from broker.operations.status import check_ready, show_status
from broker.resources import resource


def probes(parts: Parts) -> Blueprint:
    """Views for those who only want to know whether it works."""
    views = Blueprint("health", __name__)

    @views.get("/livez")
    def livez() -> Response:
        return answers.as_json({"status": "ok"})

    @views.get("/readyz")
    def readyz() -> Response:
        check_ready(parts)
        return answers.as_json({"status": "ok"})

    return views


def blueprint(parts: Parts) -> Blueprint:
    """Views for operators and client generators."""
    views = Blueprint("about", __name__)
    started_at = parts.clock.now()
    description = resource("api-spec/openapi.yaml").read_bytes()

    @views.get("/_status")
    def status() -> Response:
        require_monitor(parts, reading.credentials())
        return answers.as_json(show_status(parts, started_at))

    @views.get("/openapi.yaml")
    def openapi() -> Response:
        return Response(description, content_type="application/yaml")

    return views
