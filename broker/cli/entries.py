"""What the commands for producers, channels and consumers have in common."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

import click

from broker.cli.asking import confirm
from broker.cli.backend import Ids, Json, Registry
from broker.cli.errors import Refused
from broker.cli.output import note, show_entry, show_json
from broker.domain.errors import BrokerError, InUse, PreconditionFailed, UnfinishedJobs
from broker.domain.preconditions import Preconditions

_MADE = ("token", "signingSecret")


@dataclass(frozen=True, slots=True)
class Target:
    """The entry that a command is about, there or not."""

    kind: str
    registry: Registry
    ids: Ids

    def __str__(self) -> str:
        return f"{self.kind} {self.ids[-1]!r}"

    def command(self, verb: str) -> str:
        """What to type to do something else with it."""
        return f"broker {self.kind} {verb} {shlex.join(self.ids)}"


def create(target: Target, fields: Json, as_json: bool) -> None:
    """Make a new one; one that exists is left alone."""
    try:
        made = target.registry.put(target.ids, fields, Preconditions(must_be_new=True))
    except PreconditionFailed as error:
        raise Refused(
            f"There is a {target} already. Change it with: {target.command('update')} [{error.code}]"
        ) from error
    _show_with_secrets(made, as_json)


def update(target: Target, fields: Json, if_match: str | None, as_json: bool) -> None:
    """Change what is given of one that exists."""
    if not fields:
        raise click.UsageError("There is nothing to change: give at least one option that changes something.")
    try:
        changed = target.registry.put(target.ids, fields, _matching(if_match or "*"))
    except PreconditionFailed as error:
        if if_match is not None:
            raise
        raise Refused(f"There is no {target}. Make it with: {target.command('create')} [not-found]") from error
    _show_with_secrets(changed, as_json)


def delete(target: Target, if_match: str | None, yes: bool, force: bool, as_json: bool) -> None:
    """Remove one, after asking; what goes with it is told."""
    if not yes:
        confirm(f"Delete {target} and all that belongs to it?", "delete", "deleted")
    lost = _delete(target, _matching(if_match), force)
    if as_json:
        show_json({"id": target.ids[-1], "deleted": True, **lost})
    else:
        click.echo(f"Deleted {target}.")


def list_all(kind: str, ids: Iterator[str], limit: int | None, as_json: bool) -> None:
    """Ids, one a line as they come, or as one JSON array."""
    chosen = islice(ids, limit)
    if as_json:
        show_json(list(chosen))
        return
    first = next(chosen, None)
    if first is None:
        note(f"There are no {kind}s.")
        return
    for found in chain((first,), chosen):
        click.echo(found)


def _show_with_secrets(entry: Json, as_json: bool) -> None:
    show_entry(entry, as_json)
    for name in _MADE:
        if name in entry:
            note(f"The {name} is shown this once: keep it.")


def _delete(target: Target, only_if: Preconditions, force: bool) -> dict[str, object]:
    """Try it gently first, so that force can say what is lost."""
    try:
        target.registry.delete(target.ids, only_if, force=False)
    except (UnfinishedJobs, InUse) as refusal:
        if not force:
            raise
        target.registry.delete(target.ids, only_if, force=True)
        return _told_loss(refusal)
    return {}


def _told_loss(refusal: BrokerError) -> dict[str, object]:
    note(f"{refusal.detail.partition('. ')[0]}: gone with it.")
    return dict(refusal.members)


def _matching(if_match: str | None) -> Preconditions:
    if if_match is None:
        return Preconditions()
    return Preconditions((if_match if if_match == "*" or if_match.startswith('"') else f'"{if_match}"',))
