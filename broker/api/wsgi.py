"""What a serving process loads: settings come from the environment that the supervisor prepared."""

import os

from flask import Flask

from broker.api.app import create_app
from broker.api.metrics import Metrics
from broker.config import load
from broker.logs import configure_logging
from broker.wiring import build_parts


def application() -> Flask:
    """A new application with parts of its own."""
    settings = load(None, os.environ, {})
    configure_logging(settings.log_level)
    metrics = Metrics()
    return create_app(build_parts(settings, metrics.count_retry), metrics)
