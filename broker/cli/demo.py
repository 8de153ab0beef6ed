"""`broker demo`: takes away what `broker up --demo` made."""

import click

from broker.cli import options
from broker.cli.asking import confirm
from broker.cli.backend import Backend, Json, Registry
from broker.cli.context import CliContext
from broker.cli.errors import Refused
from broker.cli.output import show_json
from broker.domain.errors import NotFound
from broker.domain.preconditions import Preconditions
from broker.logs import configure_logging
from broker.runtime.supervisor import Stop
from broker.runtime.worker import stop_with
from broker.wiring import build_parts


@click.group()
def demo() -> None:
    """A channel that has something to show, made by `broker up --demo`.

    Its consumers: healthy takes everything, flaky refuses some orders, broken hangs up on all of them, pull is never
    asked for its jobs. Within a minute there are dead jobs of several reasons, an open breaker and a queue.

    \b
    broker up --demo
    broker dlq status --channel demo
    broker demo remove
    """


@demo.command()
@options.yes_option
@options.json_option
@options.with_backend
def remove(backend: Backend, yes: bool, as_json: bool) -> None:
    """Remove the demo: its channel with consumers, messages, jobs and counts, and its producer. Nothing else.

    \b
    broker demo remove
    broker --url http://127.0.0.1:8080 demo remove --yes
    """
    found = _found(backend)
    if not found:
        raise Refused("There is no demo here: nothing of its name that `broker up --demo` made.")
    if not yes:
        confirm(f"Remove {' and '.join(found)} and all that belongs to them?", "remove", "removed")
    for registry, entry in found.values():
        registry.delete((entry["id"],), Preconditions((f'"{entry["etag"]}"',)), force=True)
    if as_json:
        show_json({"removed": list(found)})
    else:
        click.echo(f"Removed {' and '.join(found)}.")


@demo.command(hidden=True)
@click.option("--port", type=int, required=True)
@click.option("--until-ends", "parent", type=int, required=True)
@click.pass_obj
def play(context: CliContext, port: int, parent: int) -> None:
    """The demo's target and producer; `broker up --demo` runs it."""
    from broker.demo import playing  # noqa: PLC0415 - without the demo nothing of it is loaded
    from broker.telemetry import dead_letter_counters  # noqa: PLC0415 - it looks for its folder when loaded

    stop_with(parent)
    stop = Stop()
    stop.listen()
    settings = context.load_settings()
    configure_logging(settings.log_level)
    playing.play(build_parts(settings, tally=dead_letter_counters()), port, stop)


def _found(backend: Backend) -> dict[str, tuple[Registry, Json]]:
    """What is there of the demo, the channel first: without it nothing more is published."""
    from broker.demo.plan import CHANNEL, MARK, PRODUCER  # noqa: PLC0415 - without the demo nothing of it is loaded

    found: dict[str, tuple[Registry, Json]] = {}
    for kind, registry, name in (("channel", backend.channels, CHANNEL), ("producer", backend.producers, PRODUCER)):
        try:
            entry = registry.get((name,))
        except NotFound:
            continue
        if entry["name"] == MARK:
            found[f"{kind} {name!r}"] = (registry, entry)
    return found
