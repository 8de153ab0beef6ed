"""Lists that may be long: a line each as they come, up to a limit, or as one JSON array."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import click

from broker.cli.backend import Json
from broker.cli.output import cell, note, show_json


class Column(NamedTuple):
    """What is shown, in so many characters or more."""

    title: str
    width: int
    read: Callable[[Json], object]


class Listing(NamedTuple):
    """How a list looks, and what is said when nothing is in it."""

    columns: tuple[Column, ...]
    nothing: str


def of(name: str, inner: str | None = None) -> Callable[[Json], object]:
    """A member, or a member of a member that may be missing."""
    if inner is None:
        return lambda one: one[name]
    return lambda one: (one[name] or {}).get(inner)


def show_some(listing: Listing, found: Iterator[Json], limit: int, as_json: bool) -> None:
    """The first of them; whether there are more is told to people."""
    chosen = islice(found, limit)
    if as_json:
        show_json(list(chosen))
    else:
        _show_lines(listing, chosen)
    if next(found, None) is not None:
        note(f"There are more than these {limit}: see --limit.")


def _show_lines(listing: Listing, chosen: Iterator[Json]) -> None:
    first = next(chosen, None)
    if first is None:
        note(listing.nothing)
        return
    _show_line(listing, [column.title for column in listing.columns])
    _show_line(listing, [column.read(first) for column in listing.columns])
    for one in chosen:
        _show_line(listing, [column.read(one) for column in listing.columns])


def _show_line(listing: Listing, values: list[object]) -> None:
    texts = [cell(value).ljust(column.width) for column, value in zip(listing.columns, values, strict=True)]
    click.echo("  ".join(texts).rstrip())
