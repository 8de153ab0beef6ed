"""`broker job`: look at jobs, and take them in hand."""

import click

from broker.cli import options
from broker.cli.acting import act_command
from broker.cli.backend import Backend, Json
from broker.cli.listing import Column, Listing, of, show_some
from broker.cli.output import show_entry, show_json, table
from broker.domain.states import JobFilter

_EVENT_COLUMNS = ("at", "event", "actor", "errorType", "errorCategory", "detail")
_LISTING = Listing(
    (
        Column("id", 20, of("id")),
        Column("state", 9, of("state")),
        Column("priority", 8, of("priority")),
        Column("statusChangedAt", 27, of("statusChangedAt")),
        Column("retryAttemptCount", 17, of("retryAttemptCount")),
        Column("error", 0, of("error", "type")),
    ),
    "There are no such jobs.",
)


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
        show_with_history(found)


@job.command("list")
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@click.option(
    "--state",
    type=click.Choice([one.value for one in JobFilter]),
    default="all",
    help="Only these; queued: all that wait.",
)
@options.limit_option
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
    show_some(_LISTING, found, limit, as_json)


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


def show_with_history(found: Json) -> None:
    """What a job is, then what happened to it."""
    show_entry({name: value for name, value in found.items() if name != "history"}, as_json=False)
    click.echo()
    if found["history"]:
        click.echo(table([_EVENT_COLUMNS, *([one[name] for name in _EVENT_COLUMNS] for one in found["history"])]))
    else:
        click.echo("Nothing has happened to it yet.")
