"""`broker dlq requeue|delete|archive|move`: on dead jobs that are named, or on all that a selection meets."""

from collections.abc import Callable
from functools import partial
from itertools import islice

import click

from broker.cli import options
from broker.cli.acting import jobs, tell_outcomes
from broker.cli.asking import confirm
from broker.cli.backend import Backend, Ids, Selection
from broker.cli.dead_acting import NamedDead
from broker.cli.dead_options import all_option, check_choice, filter_options, selection_of
from broker.cli.following import PAST, follow, tell_operation
from broker.cli.options import Given
from broker.domain.dead_selection import DeadAct

COUNTED_AT_MOST = 1000
Decorator = Callable[[Given], Given]
_IDS = click.argument("job_ids", metavar="[ID]...", nargs=-1)
_FORCE = options.force_option("Also those killed by hand that have retries left.")
_NAMING = "Name them (the start of an id is enough, if no other starts so), or select them by filters, or take --all."
_SELECTING = "Select them by filters, or take --all."
_STEPS = "What is selected goes in steps; when this command is stopped, a running broker goes on with them."


def dead_commands() -> list[click.Command]:
    """One for each act."""
    return [
        _command(
            DeadAct.REQUEUE,
            f"Requeue dead jobs: due now, their retries counted anew. {_NAMING}",
            ("d8k2v1q0p3vs73a1b2c0", "--category NETWORK", "--all"),
            _IDS,
        ),
        _command(
            DeadAct.DELETE,
            f"Delete dead jobs with their history, for good; asks first, and says how many. {_NAMING}"
            " Those that an operator killed while they had retries left are skipped, unless --force is given.",
            ("d8k2v1q0p3vs73a1b2c0", "--died-before 2030-01-31T12:00:00Z --yes", "--all --force"),
            _IDS,
            _FORCE,
            options.yes_option,
        ),
        _command(
            DeadAct.ARCHIVE,
            f"Archive dead jobs: kept for the record, counted no more. {_SELECTING}",
            ("--error-type HTTP_410", "--all"),
        ),
        _command(
            DeadAct.MOVE,
            f"Move dead jobs to the consumer's dead channel. {_SELECTING}",
            ("--reason EXPIRED", "--all"),
        ),
    ]


def _command(act: DeadAct, about: str, examples: tuple[str, ...], *own: Decorator) -> click.Command:
    """`broker dlq <act> CHANNEL CONSUMER`, with the options of its own."""
    lines = "\n".join(f"broker dlq {act.value} orders billing {example}" for example in examples)
    consumer = (options.id_argument("channel_id"), options.id_argument("consumer_id"))
    given = options.several(*consumer, *own, all_option, filter_options, options.json_option)
    run = given(options.with_backend(partial(_run, act)))
    return click.command(act.value, help=f"{about}\n\n{_STEPS}\n\n\b\n{lines}")(run)


def _run(act: DeadAct, backend: Backend, channel_id: str, consumer_id: str, as_json: bool, **given: Given) -> None:
    ids, names, selection = (channel_id, consumer_id), given.get("job_ids", ()), selection_of(given)
    check_choice(names, given["every"], selection)
    if given.get("yes") is False:
        _ask(backend, ids, names, selection)
    force = given.get("force", False)
    if names:
        one = backend.dlq.requeue if act is DeadAct.REQUEUE else partial(backend.dlq.delete, force=force)
        tell_outcomes(PAST[act], NamedDead(backend, ids).act(partial(one, ids), names), as_json)
    else:
        tell_operation(follow(backend, backend.dlq.start(ids, act, selection, force)), as_json)


def _ask(backend: Backend, ids: Ids, names: Ids, selection: Selection) -> None:
    told = jobs(len(names)) if names else _how_many(backend, ids, selection)
    confirm(f"Delete {told} of {'/'.join(ids)} for good, history and all?", "delete", "deleted")


def _how_many(backend: Backend, ids: Ids, selection: Selection) -> str:
    """How many it is about; many of a selection are not all counted."""
    backend.consumers.get(ids)
    if not selection:
        return jobs(sum(one["deadCount"] for one in backend.dlq.status(*ids)["consumers"]))
    found = len(list(islice(backend.dlq.list_dead(ids, selection, oldest=False), COUNTED_AT_MOST + 1)))
    return f"more than {jobs(COUNTED_AT_MOST)}" if found > COUNTED_AT_MOST else jobs(found)
