"""`broker operation`: acts on many dead jobs, followed and stopped."""

import re

import click

from broker.cli import options
from broker.cli.backend import Backend, Json
from broker.cli.dlq_tables import OPERATIONS
from broker.cli.errors import Refused
from broker.cli.following import account, follow, tell_operation
from broker.cli.listing import show_some
from broker.cli.output import show_entry, show_json
from broker.domain.acts import SHORTEST_PREFIX, XID_LENGTH
from broker.domain.dead_selection import OperationState
from broker.domain.errors import Invalid, NotFound

_PREFIX = re.compile(rf"[0-9a-v]{{{SHORTEST_PREFIX},{XID_LENGTH}}}")


@click.group()
def operation() -> None:
    """List, show and cancel operations: requeues, deletions and the like on many dead jobs.

    \b
    broker operation list
    broker operation cancel d8k2v1q0p3vs73a1b2c0
    """


@operation.command("list")
@options.limit_option
@options.json_option
@options.with_backend
def list_operations(backend: Backend, limit: int, as_json: bool) -> None:
    """List operations, newest first.

    \b
    broker operation list
    broker operation list --limit 100 --json
    """
    show_some(OPERATIONS, backend.operations.list_operations(), limit, as_json)


@operation.command()
@click.argument("operation_id", metavar="ID")
@click.option("--follow", "followed", is_flag=True, help="Wait until it is done.")
@options.json_option
@options.with_backend
def show(backend: Backend, operation_id: str, followed: bool, as_json: bool) -> None:
    """Show an operation. The start of an id is enough, if no other starts so.

    \b
    broker operation show d8k2v1q0p3vs73a1b2c0
    broker operation show d8k2v1q0p3vs73a --follow
    """
    found = _find(backend, operation_id)
    if followed:
        tell_operation(follow(backend, found), as_json)
    else:
        show_entry(found, as_json)


@operation.command()
@click.argument("operation_id", metavar="ID")
@options.json_option
@options.with_backend
def cancel(backend: Backend, operation_id: str, as_json: bool) -> None:
    """Stop an operation after the step it is at: what is done stays done. The start of an id is enough.

    \b
    broker operation cancel d8k2v1q0p3vs73a1b2c0
    """
    found = backend.operations.cancel(_find(backend, operation_id))
    if found["state"] != OperationState.CANCELLED.value:
        raise Refused(f"Operation {found['id']} is {found['state']} already: {account(found)}")
    if as_json:
        show_json(found)
    else:
        click.echo(account(found))


def _find(backend: Backend, name: str) -> Json:
    """The one whose id starts so; ids come newest first, which is from the largest down."""
    if not _PREFIX.fullmatch(name):
        rule = f"must be an operation's id, or its first {SHORTEST_PREFIX} characters or more, of 0-9 and a-v"
        raise Invalid.field("operationId", rule)
    found: list[Json] = []
    for one in backend.operations.list_operations():
        if one["id"] < name:
            break
        found += [one] if one["id"].startswith(name) else []
    if not found:
        raise NotFound(f"There is no operation {name!r}.")
    if len(found) > 1:
        named = ", ".join(one["id"] for one in found[:5])
        raise Invalid.field("operationId", f"{name!r} is the start of several ids: {named}; give more than that")
    return found[0]
