"""What a process without the API shows of itself: its health and its metrics."""

from flask import Flask

from broker.api import health, problems, request_ids
from broker.api.metrics import Metrics
from broker.config import Settings
from broker.wiring import build_parts


def application(settings: Settings) -> Flask:
    """/livez, /readyz and /metrics, with parts of its own."""
    parts, metrics = build_parts(settings), Metrics()
    app = Flask("broker", static_folder=None)
    request_ids.init_app(app, parts.ids)
    problems.init_app(app)
    app.register_blueprint(health.probes(parts))
    metrics.show(app, parts)
    return app
