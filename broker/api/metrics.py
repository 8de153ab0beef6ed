"""/metrics: the HTTP side by prometheus-flask-exporter, and the broker's own; summed over all serving processes."""

import os
from pathlib import Path

from flask import Blueprint, Flask, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter
from prometheus_flask_exporter import PrometheusMetrics

from broker.api import reading
from broker.api.database_gauges import DatabaseGauges
from broker.api.exposition import expose
from broker.api.last_known import LastKnown
from broker.api.process_metrics import read_processes
from broker.operations.access import require_monitor
from broker.operations.parts import Parts
from broker.runtime.metrics_folder import MULTIPROCESS
from broker.telemetry import DeadLetterCounters


def _folder() -> Path | None:
    """Where the processes of this instance meet, when there are several."""
    found = os.environ.get(MULTIPROCESS)
    return None if found is None else Path(found)


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

        self.dead_letters = DeadLetterCounters(self.registry)

    def count_retry(self, transaction: str, error: str) -> None:
        """A transaction was rolled back and is tried again."""
        self._retries.labels(transaction, error).inc()

    def init_app(self, app: Flask, parts: Parts) -> None:
        """Measure every request, and show the measures."""
        PrometheusMetrics(app, path=None, registry=self.registry, group_by="endpoint")
        self.show(app, parts)

    def show(self, app: Flask, parts: Parts) -> None:
        """Show the measures."""
        app.register_blueprint(self._blueprint(parts, DatabaseGauges(parts, LastKnown(_folder()))))

    def exposition(self, gauges: DatabaseGauges) -> bytes:
        """All metrics as text; those of every process when several serve."""
        folder = _folder()
        return expose(gauges, self.registry.collect() if folder is None else read_processes(folder))

    def _blueprint(self, parts: Parts, gauges: DatabaseGauges) -> Blueprint:
        views = Blueprint("metrics", __name__)

        @views.get("/metrics")
        def metrics() -> Response:
            require_monitor(parts, reading.credentials())
            return Response(self.exposition(gauges), content_type=CONTENT_TYPE_LATEST)

        return views
