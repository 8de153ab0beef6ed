"""`broker producer`: who may publish."""

import click

from broker.cli import entries, options
from broker.cli.backend import Backend
from broker.cli.entries import Target
from broker.cli.options import Given
from broker.cli.output import show_entry


@click.group()
def producer() -> None:
    """Make, list, show, change and delete producers."""


@producer.command()
@options.id_argument("producer_id")
@options.name_options
@options.json_option
@options.with_backend
def create(backend: Backend, producer_id: str, as_json: bool, **given: Given) -> None:
    """Make a new producer.

    \b
    broker producer create shop
    broker producer create shop --name 'The shop' --token s3cret --json
    """
    entries.create(_target(backend, producer_id), options.fields(**given), as_json)


@producer.command("list")
@options.list_options
@options.with_backend
def list_producers(backend: Backend, limit: int | None, as_json: bool) -> None:
    """List the ids of all producers, newest first.

    \b
    broker producer list --limit 10
    """
    entries.list_all("producer", backend.producers.list_ids(()), limit, as_json)


@producer.command()
@options.id_argument("producer_id")
@options.json_option
@options.with_backend
def show(backend: Backend, producer_id: str, as_json: bool) -> None:
    """Show a producer.

    \b
    broker producer show shop
    """
    show_entry(backend.producers.get((producer_id,)), as_json)


@producer.command()
@options.id_argument("producer_id")
@options.name_options
@options.if_match_option
@options.json_option
@options.with_backend
def update(backend: Backend, producer_id: str, if_match: str | None, as_json: bool, **given: Given) -> None:
    """Change what is given of a producer.

    \b
    broker producer update shop --name 'The other shop'
    """
    entries.update(_target(backend, producer_id), options.fields(**given), if_match, as_json)


@producer.command()
@options.id_argument("producer_id")
@options.delete_options
@options.with_backend
def delete(backend: Backend, producer_id: str, if_match: str | None, yes: bool, as_json: bool) -> None:
    """Delete a producer; its messages stay and still name it.

    \b
    broker producer delete shop --yes
    """
    entries.delete(_target(backend, producer_id), if_match, yes, force=False, as_json=as_json)


def _target(backend: Backend, producer_id: str) -> Target:
    return Target("producer", backend.producers, (producer_id,))
