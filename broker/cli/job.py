"""`broker job`: look at jobs, and take them in hand."""

from collections.abc import Iterator
from itertools import islice

import click

from broker.cli import options
from broker.cli.acting import act_command
from broker.cli.backend import Backend, Json
from broker.cli.output import cell, note, show_entry, show_json, table
from broker.domain.states import JobFilter

_EVENT_COLUMNS = ("at", "event", "actor", "errorType", "errorCategory", "detail")
_COLUMNS = (("id", 20), ("state", 9), ("priority", 8), ("statusChangedAt", 27), ("retryAttemptCount", 17))


@click.group()
def job() -> None:
    """Show and list jobs; retry, fail, finish or drop them by hand.

    \b
    broker job list orders billing --state dead
    broker job retry d8k2v1q0p3vs73a1b2c0
    """


@job.command()
@click.argument("job_id", metavar="ID")
@options.json_option
@options.with_backend
def show(backend: Backend, job_id: str, as_json: bool) -> None:
    """Show a job with its history. The start of an id is enough, if no other starts so.

    \b
    broker job show d8k2v1q0p3vs73a1b2c0
    broker job show d8k2v1q0p3vs73a --json
    """
    found = backend.jobs.get(job_id)
    if as_json:
        show_json(found)
    else:
        _show(found)


@job.command("list")
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@click.option(
    "--state",
    type=click.Choice([one.value for one in JobFilter]),
    default="all",
    help="Only these; queued: all that wait.",
)
@click.option("--limit", type=click.IntRange(min=1), default=25, show_default=True, help="So many at most.")
@options.json_option
@options.with_backend
def list_jobs(backend: Backend, channel_id: str, consumer_id: str, state: str, limit: int, as_json: bool) -> None:
    """List a consumer's jobs, newest first: those that are not dead, then the dead by the time of their death.

    Queued ones alone are listed in the order in which they will be served.

    \b
    broker job list orders billing
    broker job list orders billing --state dead --limit 1000 --json
    """
    found = backend.jobs.list_jobs(channel_id, consumer_id, JobFilter(state).value)
    chosen = islice(found, limit)
    if as_json:
        show_json(list(chosen))
    else:
        _list(chosen)
    if next(found, None) is not None:
        note(f"There are more than these {limit}: see --limit.")


for command in (
    act_command(
        "retry",
        "Requeue dead jobs: due now, their retries counted anew.",
        "broker job retry d8k2v1q0p3vs73a1b2c0 d8k2v1q0p3vs73a1b2d0",
    ),
    act_command(
        "fail",
        "Let jobs die that wait or are in flight; a late answer to one of them is refused.",
        "broker job fail d8k2v1q0p3vs73a1b2c0",
    ),
    act_command(
        "done",
        "Call jobs delivered that wait, are in flight or dead.",
        "broker job done d8k2v1q0p3vs73a1b2c0",
    ),
    act_command(
        "drop",
        "Remove jobs with their history, for good.",
        "broker job drop d8k2v1q0p3vs73a1b2c0 --yes",
        destroys=True,
    ),
):
    job.add_command(command)


def _show(found: Json) -> None:
    show_entry({name: value for name, value in found.items() if name != "history"}, as_json=False)
    click.echo()
    if found["history"]:
        click.echo(table([_EVENT_COLUMNS, *([one[name] for name in _EVENT_COLUMNS] for one in found["history"])]))
    else:
        click.echo("Nothing has happened to it yet.")


def _list(chosen: Iterator[Json]) -> None:
    """A line each as they come."""
    first = True
    for found in chosen:
        if first:
            click.echo("  ".join(name.ljust(width) for name, width in _COLUMNS) + "  error")
        first = False
        error = (found["error"] or {}).get("type")
        cells = [cell(found[name]).ljust(width) for name, width in _COLUMNS]
        click.echo("  ".join([*cells, cell(error)]).rstrip())
    if first:
        note("There are no such jobs.")
