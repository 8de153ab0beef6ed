"""`broker dlq status`: how many are dead, once or again and again, as a table, as JSON or as Prometheus takes it."""

from typing import Any

import click

from broker.cli import options
from broker.cli.backend import Backend
from broker.cli.context import CliContext
from broker.cli.dlq_tables import current_time, drift_warnings, status_table
from broker.cli.dlq_watch import Watch
from broker.cli.output import note, show_json
from broker.cli.parameters import pause
from broker.cli.screen import screen_of

Ids = tuple[str | None, str | None]
_TABLE, _JSON, _PROMETHEUS = "table", "json", "prometheus"


@click.command()
@options.id_option("channel_id", "Only consumers of this channel.")
@options.id_option("consumer_id", "Only consumers of this id.")
@click.option(
    "--format",
    "form",
    type=click.Choice([_TABLE, _JSON, _PROMETHEUS]),
    help="For people, for scripts, or what /metrics shows of the dead.  [default: table]",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--watch", is_flag=True, help="Look again and again until Ctrl-C, and tell what changed.")
@click.option(
    "--interval", metavar="DURATION", default="2s", show_default=True, callback=pause, help="Between two looks."
)
@click.option("--count", type=click.IntRange(min=1), help="So many looks, then end; else no end.")
@click.pass_context
def status(ctx: click.Context, /, channel_id: str | None, consumer_id: str | None, **given: Any) -> None:
    """Tell how many are dead, exact at this moment: all, those that a checkpoint has counted, since when, how full.

    --watch draws a terminal anew in place; anywhere else it appends a table for each look. The trend is what changed
    since the look before. While the broker is away the last values stay, marked as old; exit code 3 when it ends so.

    \b
    broker dlq status
    broker dlq status --channel orders --format json
    broker dlq status --format prometheus > dead.prom
    broker dlq status --watch --interval 5s
    """
    context, ids, form = ctx.obj, (channel_id, consumer_id), _form(given["form"], given["as_json"])
    _check_watching(ctx, given["watch"], form)
    if given["watch"]:
        ctx.exit(_watch(context, ids, given["interval"], given["count"]))
    with context.backend() as backend:
        _tell(backend, ids, form)


def _form(form: str | None, as_json: bool) -> str:
    if as_json and form not in (None, _JSON):
        raise click.UsageError(f"Give --json or --format {form}, not both.")
    return _JSON if as_json else form or _TABLE


def _check_watching(ctx: click.Context, watch: bool, form: str) -> None:
    """What only means something while watching, and what cannot be watched."""
    if watch and form != _TABLE:
        raise click.UsageError(f"--watch shows a table, so it cannot be given with --format {form}.")
    for name in ("interval", "count"):
        if not watch and ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is for --watch.")


def _tell(backend: Backend, ids: Ids, form: str) -> None:
    if form == _PROMETHEUS:
        click.echo(backend.dlq.status_text(*ids), nl=False)
        return
    found = backend.dlq.status(*ids)
    if form == _JSON:
        show_json(found)
    elif found["consumers"]:
        click.echo(status_table(found["consumers"], current_time()))
        for warning in drift_warnings(found["consumers"]):
            note(warning)
    else:
        note("There are no such consumers.")


def _watch(context: CliContext, ids: Ids, interval: float, count: int | None) -> int:
    """A new way to the broker for each look, so that one that comes back is found."""

    def look() -> list[dict[str, Any]]:
        with context.backend() as backend:
            consumers: list[dict[str, Any]] = backend.dlq.status(*ids)["consumers"]
            return consumers

    return Watch(look, interval).run(screen_of(), count)
