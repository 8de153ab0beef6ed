"""An operation on many dead jobs, followed to its end."""

import click

from broker.cli.backend import Backend, Json
from broker.cli.output import note, show_json
from broker.cli.progress import progress
from broker.domain.dead_selection import DeadAct, OperationState

PAST = {
    DeadAct.REQUEUE: "requeued",
    DeadAct.DELETE: "deleted",
    DeadAct.ARCHIVE: "archived",
    DeadAct.MOVE: "moved",
    DeadAct.REPLAY: "replayed",
}


def follow(backend: Backend, operation: Json) -> Json:
    """Until it is done or cancelled; who stops waiting is told that it goes on."""
    try:
        with progress(operation["act"].capitalize()) as reached:
            reached(_looked_at(operation), operation["total"])
            while operation["state"] == OperationState.RUNNING.value:
                operation = backend.operations.work_on(operation)
                reached(_looked_at(operation), operation["total"])
    except BaseException:
        note(_left(operation))
        raise
    return operation


def tell_operation(operation: Json, as_json: bool) -> None:
    """How it ended; exit code 1 when it was cancelled."""
    if as_json:
        show_json(operation)
    else:
        click.echo(account(operation))
    click.get_current_context().exit(0 if operation["state"] == OperationState.DONE.value else 1)


def tell_started(operation: Json, as_json: bool) -> None:
    """How far it is, for who does not wait for its end."""
    if as_json:
        show_json(operation)
    elif operation["state"] == OperationState.RUNNING.value:
        click.echo(_left(operation))
    else:
        click.echo(account(operation))


def account(operation: Json) -> str:
    """How many became what."""
    told = f"{operation['done']} {PAST[operation['act']]}, {operation['skipped']} skipped."
    return told if operation["state"] == OperationState.DONE.value else f"{operation['state'].capitalize()}: {told}"


def _looked_at(operation: Json) -> int:
    return int(operation["done"] + operation["skipped"])


def _left(operation: Json) -> str:
    done = f"Operation {operation['id']} is not done ({operation['done']} {PAST[operation['act']]} so far)"
    return f"{done}: a running broker goes on with it. Stop it with: broker operation cancel {operation['id']}"
