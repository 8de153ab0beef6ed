"""The Flask application."""

from flask import Flask

from broker.api import (
    broadcast,
    dead_letters,
    health,
    importing,
    jobs,
    messages,
    monitoring,
    operations,
    problems,
    pulling,
    registry,
    replaying,
    request_ids,
)
from broker.api.metrics import Metrics
from broker.operations.parts import Parts
from broker.operations.publishing import Publisher


def create_app(parts: Parts, metrics: Metrics) -> Flask:
    """An application over these parts."""
    app = Flask("broker", static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    request_ids.init_app(app, parts.ids)
    problems.init_app(app)
    for views in (
        registry.blueprint(parts),
        broadcast.blueprint(parts, Publisher(parts)),
        messages.blueprint(parts),
        pulling.blueprint(parts),
        jobs.blueprint(parts),
        importing.blueprint(parts),
        dead_letters.blueprint(parts),
        replaying.blueprint(parts),
        operations.blueprint(parts),
        monitoring.blueprint(parts),
        health.probes(parts),
        health.blueprint(parts),
    ):
        app.register_blueprint(views)
    metrics.init_app(app, parts)
    return app
