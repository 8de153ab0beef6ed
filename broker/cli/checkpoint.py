"""`broker checkpoint`: keeps the dead-letter summary, beside instances that do it too, or instead of them."""

from contextlib import nullcontext
from socket import socket

import click

from broker.cli.context import CliContext
from broker.cli.fitness import refuse_unfit, take
from broker.cli.output import show_json
from broker.cli.watching import answer, told, watched
from broker.config import Settings
from broker.dlq.bookkeeper import Bookkeeper
from broker.dlq.checkpointer import Checkpointer, Outcome
from broker.logs import configure_logging
from broker.operations.parts import Parts
from broker.runtime.supervisor import Stop
from broker.runtime.worker import stop_with
from broker.wiring import build_parts


@click.command()
@click.option("--once", is_flag=True, help="One checkpoint now, however young the last one is; then end.")
@click.option("--interval", metavar="DURATION", help="Time between two checkpoints, like 10m.")
@click.option("--metrics-listen", metavar="HOST:PORT", help="Where to show /metrics, /livez and /readyz; else nowhere.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (with --once).")
@click.option("--until-ends", "parent", type=int, hidden=True)
@click.pass_obj
def checkpoint(
    context: CliContext,
    once: bool,
    interval: str | None,
    metrics_listen: str | None,
    as_json: bool,
    parent: int | None,
) -> None:
    """Count the newly dead into the summary; also goes on with bulk operations and audits the summary.

    Every `broker work` and `broker serve` does this by itself: any number may run, one at a time does the work.

    \b
    broker checkpoint --once
    broker checkpoint --interval 1m
    """
    if parent is not None:
        stop_with(parent)
    take(context, dlq_summary_interval=interval, metrics_listen=metrics_listen)
    unfit = context.parts()
    refuse_unfit(unfit)
    configure_logging(unfit.settings.log_level)
    if once:
        _run_once(Checkpointer(_parts(unfit.settings)), as_json)
        return
    with watched(unfit.settings, companion=parent is not None) as listening:
        _keep(unfit.settings, listening)


def _keep(settings: Settings, listening: socket | None) -> None:
    """Until told to stop."""
    stop = Stop()
    stop.listen()
    with nullcontext() if listening is None else answer(listening, settings):
        click.echo(f"Broker {settings.broker_id!r} keeps the dead-letter summary.{told(listening)}")
        Bookkeeper(_parts(settings)).run(stop)


def _parts(settings: Settings) -> Parts:
    from broker.telemetry import dead_letter_counters  # noqa: PLC0415 - it looks for its folder when loaded

    return build_parts(settings, tally=dead_letter_counters())


def _run_once(checkpointer: Checkpointer, as_json: bool) -> None:
    result = checkpointer.run(force=True)
    if as_json:
        show_json({"outcome": result.outcome.name, "counted": result.counted, "steps": result.steps})
    else:
        click.echo(f"Checkpoint: {result.outcome.value}; {result.counted} newly dead counted.")
    click.get_current_context().exit(0 if result.outcome is Outcome.DONE else 1)
