"""`broker publish`: one message, or one for every line."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import click

from broker.cli import options
from broker.cli.backend import Json, Publisher
from broker.cli.context import CliContext
from broker.cli.lines import Read, json_item, read_lines, text_item
from broker.cli.output import show_json
from broker.cli.parameters import json_document, pairs, public_id
from broker.cli.payload import read_payload, source
from broker.cli.sending import Account, send_lines
from broker.domain.errors import BrokerError
from broker.domain.setting import camel_case
from broker.operations.publishing import Outcome

Given = Mapping[str, Any]
_FORMATS: Mapping[str, Read] = {"text": text_item, "json": json_item}
_OF_THE_MESSAGE = ("message_id", "priority", "content_type", "scheduled_for", "expires_at", "metadata", "hop_count")


@click.command()
@options.id_argument("channel_id")
@click.option("--producer", "producer_id", required=True, metavar="ID", callback=public_id, help="Who publishes.")
@click.option("--data", metavar="TEXT", help="The payload.")
@click.option("--file", type=click.File("rb"), metavar="PATH", help="A file with the payload; else standard input.")
@click.option("--lines", is_flag=True, help="Every line is a message.")
@click.option("--lines-format", type=click.Choice(list(_FORMATS)), help="A line is a payload, or a message as JSON.")
@click.option("--message-id", metavar="ID", help="An id that is taken is refused; made when not given.")
@click.option("--priority", type=int, metavar="0-9", help="9 is served first; 0 when not given.")
@click.option("--content-type", metavar="TYPE", help="application/octet-stream when not given.")
@click.option("--scheduled-for", metavar="TIME", help="When to deliver it, like 2030-01-31T12:00:00Z.")
@click.option("--expires-at", metavar="TIME", help="After this it is delivered no more.")
@click.option("--header", "headers", metavar="NAME=VALUE", multiple=True, callback=pairs, help="To carry along.")
@click.option("--metadata", metavar="JSON", callback=json_document, help="An object to keep with it.")
@click.option("--hop-count", type=int, metavar="N", help="How often it was passed on already.")
@click.option("--channel-token", envvar="BROKER_CHANNEL_TOKEN", metavar="TEXT", help="The channel's token, for --url.")
@click.option("--producer-token", envvar="BROKER_PRODUCER_TOKEN", metavar="TEXT", help="The producer's, for --url.")
@options.json_option
@click.pass_obj
def publish(context: CliContext, /, channel_id: str, lines: bool, as_json: bool, **given: Any) -> None:
    """Publish a message to a channel. When the command ends well, it is committed.

    With --lines, every line of the file or of standard input becomes a message, empty lines too. In the format json a
    line is an object with a payload and, where wanted, payloadEncoding, contentType, messageId, priority and so on.
    Options for the message hold for every line that does not say otherwise.

    \b
    broker publish orders --producer shop --data '{"order": 1}' --content-type application/json
    broker publish orders --producer shop --message-id 4711 --file order.bin
    generate-orders | broker publish orders --producer shop --lines
    """
    _check(context, lines, given)
    stream, common = source(given["data"], given["file"]), _common(given)
    publisher = Publisher(given["producer_id"], given["producer_token"], given["channel_token"])
    with context.backend() as backend:
        send_items = partial(backend.publish, channel_id, publisher)
        if lines:
            read = read_lines(stream, _reader(given["lines_format"], common))
            send_lines(Account(), read, send_items, stream, "Publishing", as_json)
        else:
            _publish_one(send_items, {**common, **text_item(read_payload(stream))}, as_json)


def _check(context: CliContext, lines: bool, given: Given) -> None:
    """What can be wrong with the options together."""
    if lines and given["message_id"] is not None:
        raise click.UsageError("--message-id names one message; lines name theirs in --lines-format json.")
    if given["lines_format"] is not None and not lines:
        raise click.UsageError("--lines-format needs --lines.")
    if context.url is not None and not (given["channel_token"] and given["producer_token"]):
        raise click.UsageError("Publishing to --url needs --channel-token and --producer-token.")


def _common(given: Given) -> Json:
    """What the options say of every message."""
    common = {camel_case(name): given[name] for name in _OF_THE_MESSAGE if given[name] is not None}
    return {**common, "headers": dict(given["headers"])} if given["headers"] else common


def _reader(lines_format: str | None, common: Json) -> Read:
    read = _FORMATS[lines_format or "text"]

    def read_over_common(text: bytes) -> Json | BrokerError | None:
        item = read(text)
        return {**common, **item} if isinstance(item, dict) else item

    return read_over_common


def _publish_one(send_items: Callable[[Sequence[Json]], list[Outcome]], item: Json, as_json: bool) -> None:
    (outcome,) = send_items([item])
    if isinstance(outcome, BrokerError):
        raise outcome
    if as_json:
        show_json({"messageId": outcome.message_id, "location": outcome.location})
    else:
        click.echo(f"Published {outcome.location}")
