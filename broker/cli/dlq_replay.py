"""`broker dlq replay`: dead letters back to their consumer, or to another, retained or moved."""

import click

from broker.cli import options
from broker.cli.backend import Backend, Json
from broker.cli.dead_options import category_option, fingerprint_option, time_option
from broker.cli.following import follow, tell_operation, tell_started
from broker.cli.options import Given
from broker.cli.output import show_json
from broker.domain.dead_selection import OperationState
from broker.domain.replay import MOST_REPLAYED
from broker.domain.setting import camel_case

_selection = options.several(
    click.option("--limit", type=click.IntRange(1, MOST_REPLAYED), help="So many at most, the oldest first; else all."),
    time_option("--since", "Who died then or later: 2030-01-31T12:00:00Z."),
    time_option("--until", "Who died then or before."),
    category_option,
    fingerprint_option,
    click.option("--target", metavar="CHANNEL/CONSUMER", help="Another consumer to which they go instead."),
)


@click.command()
@options.id_argument("channel_id")
@options.id_argument("consumer_id")
@_selection
@click.option("--dry-run", is_flag=True, default=None, help="Only tell how many would be replayed, and who would not.")
@click.option("--follow/--no-follow", "followed", default=True, help="Wait until it is done; else only begin.")
@options.json_option
@options.with_backend
def replay(backend: Backend, channel_id: str, consumer_id: str, followed: bool, as_json: bool, **given: Given) -> None:
    """Replay dead letters: those that the consumer retains, then those that were moved to its dead channel. They are
    due at once, their retries counted anew. Moved ones that somebody has leased are left alone. It goes in steps; when
    this command is stopped, a running broker goes on with them.

    \b
    broker dlq replay orders billing --dry-run
    broker dlq replay orders billing --limit 100 --category NETWORK
    broker dlq replay orders billing --since 2030-01-31T12:00:00Z --target orders/billing-2
    """
    wish = {camel_case(name): value for name, value in given.items() if value is not None}
    answer = backend.dlq.replay((channel_id, consumer_id), wish)
    if "dryRun" in answer:
        show_json(answer) if as_json else click.echo(_foretold(answer))
    elif followed:
        tell_operation(follow(backend, answer), as_json)
    else:
        tell_started(_begun(backend, answer), as_json)


def _begun(backend: Backend, operation: Json) -> Json:
    """A first step of it is done here, so that a small one needs nobody else."""
    return backend.operations.work_on(operation) if operation["state"] == OperationState.RUNNING.value else operation


def _foretold(found: Json) -> str:
    """What would be done, and to whom it would not."""
    count = str(found["replayable"]) if found["complete"] else f"At least {found['replayable']}"
    left = found["leftAlone"]
    kinds = f"{found['retained']} retained, {found['moved']} moved"
    return (
        f"{count} would be replayed ({kinds} meet the conditions);"
        f" left alone: {left['inflight']} leased, {left['dead']} dead in the dead channel."
    )
