"""Commands that act on several jobs at once: what was done, what was passed over, what is not there."""

from functools import partial

import click

from broker.cli import options
from broker.cli.asking import confirm
from broker.cli.backend import Backend, Json
from broker.cli.output import note, show_json
from broker.domain.acts import ACTS


def act_command(name: str, about: str, example: str, destroys: bool = False) -> click.Command:
    """`broker job <name> ID...`; one that destroys asks first."""
    text = f"{about} The start of an id is enough, if no other starts so.\n\n\b\n{example}"
    command = options.with_backend(partial(_run, name))
    for decorate in (
        options.json_option,
        options.yes_option if destroys else _passed,
        options.force_option("Also what is in flight under a valid lease.") if destroys else _passed,
        click.argument("ids", metavar="ID...", nargs=-1, required=True),
    ):
        command = decorate(command)
    return click.command(name, help=text)(command)


def _passed(command: options.Command) -> options.Command:
    return command


def _run(
    name: str, backend: Backend, ids: tuple[str, ...], as_json: bool, yes: bool = True, force: bool = False
) -> None:
    if not yes:
        confirm(f"Drop {jobs(len(ids))} for good, history and all?", "drop", "dropped")
    tell_outcomes(ACTS[name].past, backend.jobs.act(name, ids, force), as_json)


def tell_outcomes(past: str, told: Json, as_json: bool) -> None:
    """What became of each; exit code 1 unless all were done."""
    if as_json:
        show_json(told)
    else:
        _tell(past, told)
    click.get_current_context().exit(0 if told["done"] == len(told["results"]) else 1)


def jobs(count: int) -> str:
    """So many of them."""
    return f"{count} job{'' if count == 1 else 's'}"


def _tell(past: str, told: Json) -> None:
    """The count to standard output; who was left out, and why, to standard error."""
    for one in told["results"]:
        if one["result"] != "done":
            note(": ".join(filter(None, (one["id"], one["result"], one["reason"]))))
    click.echo(f"{told['done']} {past}, {told['skipped']} skipped, {told['notFound']} not found.")
