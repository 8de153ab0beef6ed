"""`broker message`: what was published, and where its jobs stand."""

import base64

import click

from broker.cli import options
from broker.cli.backend import Backend, Json
from broker.cli.output import show_entry, show_json, table

LONGEST_SHOWN = 1000
_JOB_COLUMNS = ("id", "consumerId", "status", "state", "statusChangedAt")


@click.group()
def message() -> None:
    """Show messages."""


@message.command()
@options.id_argument("channel_id")
@options.id_argument("message_id")
@click.option("--raw", is_flag=True, help="Write the payload to standard output, byte for byte.")
@options.json_option
@options.with_backend
def show(backend: Backend, channel_id: str, message_id: str, raw: bool, as_json: bool) -> None:
    """Show a message with its jobs.

    \b
    broker message show orders 4711
    broker message show orders 4711 --raw > payload.bin
    """
    if raw and as_json:
        raise click.UsageError("Give --raw or --json, not both.")
    found = backend.get_message(channel_id, message_id)
    if raw:
        click.echo(payload_of(found), nl=False)
    elif as_json:
        show_json(found)
    else:
        _show(found)


def payload_of(found: Json) -> bytes:
    """The bytes as they were published."""
    text = str(found["payload"])
    return base64.b64decode(text) if found["payloadEncoding"] == "base64" else text.encode()


def _show(found: Json) -> None:
    shown = {name: value for name, value in found.items() if name != "jobs"}
    show_entry({**shown, "payload": shortened(str(found["payload"]))}, as_json=False)
    click.echo()
    if found["jobs"]:
        click.echo(table([_JOB_COLUMNS, *([job[name] for name in _JOB_COLUMNS] for job in found["jobs"])]))
    else:
        click.echo("It has no jobs: its channel had no consumers.")


def shortened(payload: str) -> str:
    """The start of it, and how much there is beyond."""
    more = len(payload) - LONGEST_SHOWN
    return payload if more <= 0 else f"{payload[:LONGEST_SHOWN]} (and {more} more characters: see --raw)"
