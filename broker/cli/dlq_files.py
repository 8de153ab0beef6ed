"""`broker dlq export|import`: dead jobs as JSON lines, out of a broker and into one."""

import json
from functools import partial
from typing import BinaryIO

import click

from broker.cli import options
from broker.cli.acting import jobs
from broker.cli.backend import Backend
from broker.cli.dead_options import filter_options, selection_of
from broker.cli.lines import json_item, read_lines
from broker.cli.output import note
from broker.cli.payload import source
from broker.cli.progress import progress
from broker.cli.sending import Account, send_lines


@click.command("export")
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@filter_options
@options.with_backend
def export_dead(backend: Backend, channel_id: str, consumer_id: str, **given: options.Given) -> None:
    """Write a consumer's dead to standard output, a JSON object a line, the oldest death first; with filters those that
    meet all of them.

    A line has the payload, the last 100 events of the history and where the job was, and is what `broker dlq import`
    takes. Nothing is deleted.

    \b
    broker dlq export orders billing > dead.jsonl
    broker dlq export orders billing --category NETWORK | gzip > dead.jsonl.gz
    """
    count = 0
    with progress("Exporting") as reached:
        for count, one in enumerate(backend.dlq.export((channel_id, consumer_id), selection_of(given)), 1):
            click.echo(json.dumps(one, ensure_ascii=False).encode())
            reached(count, None)
    note(f"{jobs(count)} exported.")


@click.command("import")
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@click.argument("file", type=click.File("rb"), required=False)
@options.json_option
@options.with_backend
def import_jobs(backend: Backend, channel_id: str, consumer_id: str, file: BinaryIO | None, as_json: bool) -> None:
    """Bring jobs in from a file or standard input, a JSON object a line, as `broker dlq export` writes them.

    Each becomes a new job of this consumer, dead or queued as its line says. A line whose `sourceJobId` the consumer
    has already is ignored, so that an import which broke off can be repeated. Exit code 1: a line was rejected.

    \b
    broker dlq import orders billing dead.jsonl
    gzip -dc dead.jsonl.gz | broker dlq import orders billing
    """
    stream = source(None, file)
    account = Account("ignored")
    send_lines(account, read_lines(stream, json_item), partial(backend.dlq.take_in, (channel_id, consumer_id)),
               stream, "Importing", as_json)  # fmt: skip
