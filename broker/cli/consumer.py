"""`broker consumer`: who gets the jobs of a channel."""

import click

from broker.cli import entries, options
from broker.cli.backend import Backend
from broker.cli.entries import Target
from broker.cli.options import Given
from broker.cli.output import show_entry


@click.group()
def consumer() -> None:
    """Make, list, show, change and delete the consumers of a channel."""


@consumer.command()
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@options.delivery_options
@options.name_options
@options.setting_options
@options.paused_option
@options.json_option
@options.with_backend
def create(backend: Backend, channel_id: str, consumer_id: str, as_json: bool, **given: Given) -> None:
    """Make a new consumer: one that is called, or with --pull one that fetches its jobs.

    \b
    broker consumer create orders billing --callback-url https://billing.example/hook
    broker consumer create orders reports --pull --set lease=5m
    """
    entries.create(_target(backend, channel_id, consumer_id), options.fields(**given), as_json)


@consumer.command("list")
@options.id_argument("channel_id")
@options.list_options
@options.with_backend
def list_consumers(backend: Backend, channel_id: str, limit: int | None, as_json: bool) -> None:
    """List the ids of a channel's consumers, newest first.

    \b
    broker consumer list orders
    """
    entries.list_all("consumer", backend.consumers.list_ids((channel_id,)), limit, as_json)


@consumer.command()
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@options.json_option
@options.with_backend
def show(backend: Backend, channel_id: str, consumer_id: str, as_json: bool) -> None:
    """Show a consumer.

    \b
    broker consumer show orders billing
    """
    show_entry(backend.consumers.get((channel_id, consumer_id)), as_json)


@consumer.command()
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@options.delivery_options
@options.name_options
@options.setting_options
@options.change_options
@options.json_option
@options.with_backend
def update(
    backend: Backend, channel_id: str, consumer_id: str, if_match: str | None, as_json: bool, **given: Given
) -> None:
    """Change what is given of a consumer.

    \b
    broker consumer update orders billing --callback-url https://billing.example/new
    broker consumer update orders billing --resume --unset consumerRate
    """
    entries.update(_target(backend, channel_id, consumer_id), options.fields(**given), if_match, as_json)


@consumer.command()
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@options.force_option("Even with unfinished jobs, which are dropped.")
@options.delete_options
@options.with_backend
def delete(
    backend: Backend, channel_id: str, consumer_id: str, if_match: str | None, yes: bool, force: bool, as_json: bool
) -> None:
    """Delete a consumer with its jobs.

    \b
    broker consumer delete orders billing
    broker consumer delete orders billing --force --yes
    """
    entries.delete(_target(backend, channel_id, consumer_id), if_match, yes, force, as_json)


def _target(backend: Backend, channel_id: str, consumer_id: str) -> Target:
    return Target("consumer", backend.consumers, (channel_id, consumer_id))
