"""`broker checkpoint`: keeps the dead-letter summary, beside instances that do it too, or instead of them."""

import click

from broker.cli.context import CliContext
from broker.cli.fitness import refuse_unfit, take
from broker.cli.output import show_json
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON (with --once).")
@click.option("--until-ends", "parent", type=int, hidden=True)
@click.pass_obj
def checkpoint(context: CliContext, once: bool, interval: str | None, as_json: bool, parent: int | None) -> None:
    """Count the newly dead into the summary; also goes on with bulk operations and audits the summary.

    Every `broker work` and `broker serve` does this by itself: any number may run, one at a time does the work.

    \b
    broker checkpoint --once
    broker checkpoint --interval 1m
    """
    if parent is not None:
        stop_with(parent)
    take(context, dlq_summary_interval=interval)
    unfit = context.parts()
    refuse_unfit(unfit)
    parts = _parts(unfit.settings)
    configure_logging(parts.settings.log_level)
    if once:
        _run_once(Checkpointer(parts), as_json)
        return
    stop = Stop()
    stop.listen()
    click.echo(f"Broker {parts.settings.broker_id!r} keeps the dead-letter summary.")
    Bookkeeper(parts).run(stop)


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
