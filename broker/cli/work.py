"""`broker work`: the engine without the HTTP API."""

from socket import socket

import click

from broker.cli.context import CliContext
from broker.cli.fitness import refuse_unfit, take
from broker.cli.watching import answer_until, told, watched
from broker.config import Settings
from broker.delivery.engine import Engine
from broker.delivery.outlets import Share
from broker.dlq.bookkeeper import Bookkeeper
from broker.domain.ids import XidFactory
from broker.logs import configure_logging
from broker.operations.parts import Parts
from broker.runtime.cores import engine_workers
from broker.runtime.supervisor import Stop, Supervisor
from broker.runtime.worker import collect_less_often, stop_with
from broker.wiring import build_parts


@click.command()
@click.option("--workers", type=click.IntRange(1, 64), help="Delivering processes; else by cores.")
@click.option("--metrics-listen", metavar="HOST:PORT", help="Where to show /metrics, /livez and /readyz; else nowhere.")
@click.option("--until-ends", "parent", type=int, hidden=True)
@click.pass_obj
def work(context: CliContext, workers: int | None, metrics_listen: str | None, parent: int | None) -> None:
    """Deliver jobs, retry them and let them die by the rules; serves no API.

    Any number of instances may work on one database. SIGTERM lets deliveries in flight finish and gives back the rest.

    \b
    broker db upgrade
    broker work --workers 2 --metrics-listen 0.0.0.0:9464
    """
    if parent is not None:
        stop_with(parent)
    take(context, delivery_workers=workers, metrics_listen=metrics_listen)
    parts = context.parts()
    refuse_unfit(parts)
    settings = parts.settings
    configure_logging(settings.log_level)
    count = engine_workers(settings.delivery_workers, settings.database_url.startswith("sqlite"))
    greeting = f"Broker {settings.broker_id!r} delivers with {count} process{'es' if count > 1 else ''}."
    with watched(settings, companion=parent is not None) as listening:
        processes = count + (1 if listening is None else 2)
        supervisor = Supervisor(processes, lambda index, stop: _run(settings, Share(index, count), stop, listening))
        supervisor.run(Stop(), lambda: click.echo(greeting + told(listening)))
    click.echo("Stopped.")


def _run(settings: Settings, share: Share, stop: Stop, listening: socket | None) -> None:
    """So many processes deliver; the next one keeps the books, and another one answers those who watch."""
    if listening is not None and share.index > share.of:
        answer_until(stop, listening, settings)
        return
    from broker.telemetry import dead_letter_counters  # noqa: PLC0415 - it looks for its folder when loaded

    parts = build_parts(settings, tally=dead_letter_counters())
    if share.index < share.of:
        _deliver(parts, share, stop)
    else:
        Bookkeeper(parts).run(stop)


def _deliver(parts: Parts, share: Share, stop: Stop) -> None:
    from broker.telemetry import engine_metrics  # noqa: PLC0415 - it looks for its folder when loaded

    owner = f"{parts.settings.broker_id}-{XidFactory().new()}"
    engine = Engine(parts, owner, share, engine_metrics())
    collect_less_often()
    engine.run(stop)
