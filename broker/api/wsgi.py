"""What a serving process loads: settings come from the environment that the supervisor prepared."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from broker.api.app import create_app
from broker.api.metrics import Metrics
from broker.config import load
from broker.logs import configure_logging
from broker.runtime.worker import collect_less_often, obey_supervisor
from broker.wiring import build_parts

WsgiApplication = Callable[[dict[str, Any], Any], Iterable[bytes]]


def application() -> WsgiApplication:
    """A new application with parts of its own, in a process of its own."""
    obey_supervisor()
    settings = load(None, os.environ, {})
    configure_logging(settings.log_level)
    metrics = Metrics()
    app = create_app(build_parts(settings, metrics.count_retry, tally=metrics.dead_letters), metrics)
    collect_less_often()
    return in_one_piece(app)


def in_one_piece(app: WsgiApplication) -> WsgiApplication:
    """Answers as a list: the server sends that at once, where it would walk any other iterable piece by piece."""

    def whole(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        answer = app(environ, start_response)
        try:
            return [b"".join(answer)]
        finally:
            if hasattr(answer, "close"):
                answer.close()

    return whole
