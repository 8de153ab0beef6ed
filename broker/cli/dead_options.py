"""Which of the dead a command is about: options that are the filters of the API."""

from collections.abc import Callable, Mapping, Sequence

import click

from broker.cli.backend import Selection
from broker.cli.options import Given, several
from broker.domain.dead_selection import FILTER_FIELDS, LONGEST_TEXT
from broker.domain.errors import Invalid
from broker.domain.failures import Category
from broker.domain.setting import camel_case
from broker.domain.states import DeadReason
from broker.domain.times import parse_time, show_time


def selection_of(given: Mapping[str, Given]) -> Selection:
    """The filters that were given, as the API takes them."""
    named = {camel_case(name): value for name, value in given.items() if value is not None}
    return {name: value for name, value in named.items() if name in FILTER_FIELDS}


def check_choice(job_ids: Sequence[str], every: bool, selection: Selection) -> None:
    """Jobs that are named, those that are selected, or all of them: what is meant must be said, and only once."""
    if len([choice for choice in (job_ids, every, selection) if choice]) != 1:
        raise click.UsageError("Give ids, or filters such as --category, or --all: one of these.")


def _text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An empty one would select everything, which nobody means who gives a filter."""
    if value is not None and not value.strip():
        raise click.BadParameter("is empty")
    if value is not None and len(value) > LONGEST_TEXT:
        raise click.BadParameter(f"has more than {LONGEST_TEXT} characters")
    return value


def time_option(name: str, about: str) -> Callable[[Given], Given]:
    """A moment, with its offset."""
    return click.option(name, metavar="TIME", callback=_time, help=about)


def _time(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else show_time(parse_time("time", value))
    except Invalid as error:
        raise click.BadParameter(f"{value!r} {error.problems[0].message}") from error


category_option = click.option(
    "--category", type=click.Choice(list(Category)), help="Whose last error is of this category."
)
fingerprint_option = click.option(
    "--fingerprint", metavar="TEXT", callback=_text, help="Whose last error has this fingerprint."
)
all_option = click.option("--all", "every", is_flag=True, help="All that are dead now.")
filter_options = several(
    category_option,
    click.option("--reason", type=click.Choice(list(DeadReason)), help="Who died of this."),
    click.option("--error-type", metavar="TYPE", callback=_text, help="Whose last error is of this type: HTTP_503."),
    click.option("--text", metavar="TEXT", callback=_text, help="Whose last error's text contains this."),
    fingerprint_option,
    time_option("--died-after", "Who died then or later: 2030-01-31T12:00:00Z."),
    time_option("--died-before", "Who died then or before."),
)
