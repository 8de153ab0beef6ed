"""Arguments and options that commands share."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from broker.cli.backend import Json
from broker.cli.parameters import optional_public_id, public_id, settings
from broker.domain.setting import camel_case

Command = TypeVar("Command", bound=Callable[..., Any])
Given = Any


def with_backend(command: Callable[..., None]) -> Callable[..., None]:
    """Hands the database or the server to a command as its first argument."""

    @functools.wraps(command)
    def run(**given: Given) -> None:
        with click.get_current_context().obj.backend() as backend:
            command(backend, **given)

    return run


def id_argument(name: str) -> Callable[[Command], Command]:
    """`channel_id` is shown as CHANNEL."""
    return click.argument(name, metavar=name.removesuffix("_id").upper(), callback=public_id)


def id_option(name: str, about: str) -> Callable[[Command], Command]:
    """`channel_id` is given as --channel."""
    word = name.removesuffix("_id")
    return click.option(f"--{word}", name, metavar=word.upper(), callback=optional_public_id, help=about)


def force_option(about: str) -> Callable[[Command], Command]:
    """What would be refused otherwise."""
    return click.option("--force", is_flag=True, help=about)


def fields(own: Given = (), unset: Given = (), pull: bool | None = None, **given: Given) -> Json:
    """What a PUT takes: the options that were given, settings, and null for what shall be inherited again."""
    both = {key for key, _ in own} & set(unset)
    if both:
        raise click.UsageError(f"--set and --unset cannot both name {', '.join(sorted(both))}.")
    kind = None if pull is None else "pull" if pull else "push"
    named = {camel_case(name): value for name, value in {**given, "type": kind}.items() if value is not None}
    return {**named, **dict(own), **dict.fromkeys(unset)}


def several(*decorators: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Options that go together, in the order of the help."""
    return lambda command: functools.reduce(lambda inner, decorate: decorate(inner), reversed(decorators), command)


yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
limit_option = click.option(
    "--limit", type=click.IntRange(min=1), default=25, show_default=True, help="So many at most."
)
json_option = click.option("--json", "as_json", is_flag=True, help="For scripts.")
if_match_option = click.option("--if-match", metavar="ETAG", help="Only if this is still its etag, which `show` tells.")
paused_option = click.option("--paused", is_flag=True, default=None, help="Hold its deliveries from the start.")
name_options = several(
    click.option("--name", metavar="TEXT", help="A name for people; at first the id."),
    click.option("--token", metavar="TEXT", help="Its token; when it has none, one is made and shown once."),
)
setting_options = several(
    click.option("--dead-channel", metavar="CHANNEL", help="Where its dead go."),
    click.option(
        "--set",
        "own",
        metavar="KEY=VALUE",
        multiple=True,
        callback=settings,
        help="Its own value of a setting, like maxRetries=5.",
    ),
)
change_options = several(
    click.option("--unset", metavar="KEY", multiple=True, help="A setting to inherit again; also deadChannel."),
    click.option("--pause/--resume", "paused", default=None, help="Hold its deliveries, or go on with them."),
    if_match_option,
)
delivery_options = several(
    click.option("--callback-url", metavar="URL", help="Where its jobs are pushed to."),
    click.option("--pull/--push", "pull", default=None, help="Whether it fetches its jobs, or they are pushed to it."),
    click.option("--signing-secret", metavar="TEXT", help="Signs what is pushed; else one is made and shown once."),
)
delete_options = several(yes_option, if_match_option, json_option)
list_options = several(
    click.option("--limit", type=click.IntRange(min=1), help="So many at most; else all."), json_option
)
