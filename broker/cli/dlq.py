"""`broker dlq`: the dead of every consumer, counted, looked at and taken in hand."""

import click

from broker.cli import options
from broker.cli.backend import Backend, Json
from broker.cli.dead_options import filter_options, selection_of
from broker.cli.dlq_acts import dead_commands
from broker.cli.dlq_files import export_dead, import_jobs
from broker.cli.dlq_replay import replay
from broker.cli.dlq_status import status
from broker.cli.dlq_tables import DEAD, audit_lines
from broker.cli.errors import Refused
from broker.cli.job import show_with_history
from broker.cli.listing import show_some
from broker.cli.message import shortened
from broker.cli.output import show_entry, show_json
from broker.cli.progress import progress
from broker.domain.errors import NotDead
from broker.domain.states import JobStatus

_OF_THE_MESSAGE = ("contentType", "headers", "metadata", "payloadEncoding", "payload")


@click.group()
def dlq() -> None:
    """Count, list and show the dead; requeue, replay, delete, archive or move them; export, import and audit them.

    \b
    broker dlq status
    broker dlq list orders billing --category NETWORK
    broker dlq requeue orders billing --all
    """


@dlq.command("list")
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@filter_options
@click.option("--oldest", is_flag=True, help="Who died first comes first.")
@options.limit_option
@options.json_option
@options.with_backend
def list_dead(
    backend: Backend, channel_id: str, consumer_id: str, oldest: bool, limit: int, as_json: bool, **given: options.Given
) -> None:
    """List a consumer's dead, the latest death first; with filters those that meet all of them.

    \b
    broker dlq list orders billing
    broker dlq list orders billing --error-type HTTP_503 --died-after 2030-01-31T12:00:00Z
    broker dlq list orders billing --text 'no room' --oldest --limit 1000 --json
    """
    found = backend.dlq.list_dead((channel_id, consumer_id), selection_of(given), oldest)
    show_some(DEAD, found, limit, as_json)


@dlq.command()
@click.argument("job_id", metavar="ID")
@options.json_option
@options.with_backend
def show(backend: Backend, job_id: str, as_json: bool) -> None:
    """Show a dead job with its history and the start of its payload. The start of an id is enough, if no other
    starts so.

    \b
    broker dlq show d8k2v1q0p3vs73a1b2c0
    broker dlq show d8k2v1q0p3vs73a --json
    """
    found = backend.jobs.get(job_id)
    if found["status"] != JobStatus.DEAD.name:
        told = f"Job {found['id']} is {found['state']}, not dead. See: broker job show {found['id']}"
        raise Refused(f"{told} [{NotDead.code}]")
    message = backend.get_message(found["channelId"], found["messageId"])
    content = {name: message[name] for name in _OF_THE_MESSAGE}
    if as_json:
        show_json({**found, "message": content})
    else:
        _show(found, content)


@dlq.command()
@click.option("--repair", is_flag=True, help="Put right what is off.")
@options.json_option
@options.with_backend
def audit(backend: Backend, repair: bool, as_json: bool) -> None:
    """Recount all dead and compare them with the summary; exit code 1 when something is off and was not repaired.

    \b
    broker dlq audit
    broker dlq audit --repair --json
    """
    with progress("Recounting") as reached:
        found = backend.dlq.audit(repair, reached)
    if as_json:
        show_json(found)
    else:
        click.echo("\n".join(audit_lines(found)))
    click.get_current_context().exit(0 if found["good"] else 1)


for command in (status, *dead_commands(), replay, export_dead, import_jobs):
    dlq.add_command(command)


def _show(found: Json, content: Json) -> None:
    show_with_history(found)
    click.echo()
    show_entry({**content, "payload": shortened(str(content["payload"]))}, as_json=False)
