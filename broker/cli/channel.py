"""`broker channel`: where messages go."""

import click

from broker.cli import entries, options
from broker.cli.backend import Backend
from broker.cli.entries import Target
from broker.cli.options import Given
from broker.cli.output import show_entry


@click.group()
def channel() -> None:
    """Make, list, show, change and delete channels."""


@channel.command()
@options.id_argument("channel_id")
@options.name_options
@options.setting_options
@options.paused_option
@options.json_option
@options.with_backend
def create(backend: Backend, channel_id: str, as_json: bool, **given: Given) -> None:
    """Make a new channel.

    \b
    broker channel create orders
    broker channel create orders --dead-channel lost --set maxRetries=5 --set retryBase=30s
    """
    entries.create(_target(backend, channel_id), options.fields(**given), as_json)


@channel.command("list")
@options.list_options
@options.with_backend
def list_channels(backend: Backend, limit: int | None, as_json: bool) -> None:
    """List the ids of all channels, newest first.

    \b
    broker channel list --json
    """
    entries.list_all("channel", backend.channels.list_ids(()), limit, as_json)


@channel.command()
@options.id_argument("channel_id")
@options.json_option
@options.with_backend
def show(backend: Backend, channel_id: str, as_json: bool) -> None:
    """Show a channel.

    \b
    broker channel show orders
    """
    show_entry(backend.channels.get((channel_id,)), as_json)


@channel.command()
@options.id_argument("channel_id")
@options.name_options
@options.setting_options
@options.change_options
@options.json_option
@options.with_backend
def update(backend: Backend, channel_id: str, if_match: str | None, as_json: bool, **given: Given) -> None:
    """Change what is given of a channel.

    \b
    broker channel update orders --pause
    broker channel update orders --set retryPolicy=linear --unset maxRetries
    """
    entries.update(_target(backend, channel_id), options.fields(**given), if_match, as_json)


@channel.command()
@options.id_argument("channel_id")
@options.force_option("Even with consumers, which go with it.")
@options.delete_options
@options.with_backend
def delete(backend: Backend, channel_id: str, if_match: str | None, yes: bool, force: bool, as_json: bool) -> None:
    """Delete a channel with its messages.

    \b
    broker channel delete orders
    broker channel delete orders --force --yes
    """
    entries.delete(_target(backend, channel_id), if_match, yes, force, as_json)


def _target(backend: Backend, channel_id: str) -> Target:
    return Target("channel", backend.channels, (channel_id,))
