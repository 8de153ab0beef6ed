"""How words of the command line become values; what cannot be one is a usage error."""

import json
from typing import NoReturn

import click

from broker.domain.durations import parse_duration
from broker.domain.errors import Invalid
from broker.domain.names import check_public_id

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 86_400.0
Pairs = tuple[tuple[str, object], ...]


def public_id(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """An id that users choose."""
    try:
        return check_public_id("id", value)
    except Invalid as error:
        raise click.BadParameter(error.problems[0].message) from error


def optional_public_id(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An id that users choose, where one is given."""
    return None if value is None else public_id(ctx, param, value)


def pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Pairs:
    """`key=value`, each."""
    return tuple(_pair(value) for value in values)


def settings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Pairs:
    """`key=value`, each; a value is JSON that is not a string, else the text as it stands."""
    return tuple((key, _loose_json(text)) for key, text in map(_pair, values))


def pause(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A duration to wait for, in seconds."""
    try:
        seconds = parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not SHORTEST_PAUSE <= seconds <= LONGEST_PAUSE:
        raise click.BadParameter(f"{value} is not between 100ms and 1d")
    return seconds


def json_document(ctx: click.Context, param: click.Parameter, value: str | None) -> object:
    """Any JSON."""
    try:
        return None if value is None else parse_json(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not JSON") from None


def parse_json(text: str | bytes) -> object:
    """Strict JSON in UTF-8, without numbers that JSON cannot hold; raises ValueError."""
    try:
        document = text if isinstance(text, str) else text.decode()
        return json.loads(document, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("is nested too deep") from None


def _pair(value: str) -> tuple[str, str]:
    key, equals, text = value.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"{value!r} is not of the form key=value")
    return key, text


def _loose_json(text: str) -> object:
    try:
        found = parse_json(text)
    except ValueError:
        return text
    return text if isinstance(found, str) else found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    return _refuse(text) if abs(number) == float("inf") else number
