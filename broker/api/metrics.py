"""/metrics: the HTTP side by prometheus-flask-exporter, and the broker's own; summed over all serving processes."""

import os

from flask import Blueprint, Flask, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_flask_exporter import PrometheusMetrics

from broker.api import reading
from broker.operations.access import require_monitor
from broker.operations.parts import Parts

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._retries = Counter(
            "broker_database_retries_total",
            "Transactions that were tried again, by their name and the database's error",
            ["transaction", "error"],
            registry=self.registry,
        )

    def count_retry(self, transaction: str, error: str) -> None:
        """A transaction was rolled back and is tried again."""
        self._retries.labels(transaction, error).inc()

    def init_app(self, app: Flask, parts: Parts) -> None:
        """Measure every request, and show the measures."""
        PrometheusMetrics(app, path=None, registry=self.registry, group_by="endpoint")
        app.register_blueprint(self._blueprint(parts))

    def exposition(self) -> bytes:
        """All metrics as text; those of every process when several serve."""
        if os.environ.get(MULTIPROCESS) is None:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def _blueprint(self, parts: Parts) -> Blueprint:
        views = Blueprint("metrics", __name__)

        @views.get("/metrics")
        def metrics() -> Response:
            require_monitor(parts, reading.credentials())
            return Response(self.exposition(), content_type=CONTENT_TYPE_LATEST)

        return views
