"""`broker config check` and `show`: what is wrong with the settings, and where each value comes from."""

import json
import os
from pathlib import Path
from typing import NoReturn, Protocol

import click

from broker.config import DEFAULT_SOURCE, ConfigError, Explained, Problem, explain
from broker.domain.settings import BY_KEY

BAD_SETTINGS = 2


class ConfigContext(Protocol):
    """The part of the command line's context that says which sources to read."""

    config_file: Path | None
    options: dict[str, object]


@click.group()
def config() -> None:
    """Check and show the settings."""


@config.command()
@click.option("--json", "json_output", is_flag=True, help="Answer in JSON.")
@click.pass_obj
def check(context: ConfigContext, json_output: bool) -> None:
    """Check every source of settings and report all problems at once."""
    sources = _sources(_explained(context, json_output))
    if json_output:
        click.echo(json.dumps({"ok": True, "sources": sources, "problems": []}))
    else:
        click.echo(f"The settings are ok (from {', '.join(sources) or 'defaults only'}).")


@config.command()
@click.option("--json", "json_output", is_flag=True, help="Answer in JSON.")
@click.pass_obj
def show(context: ConfigContext, json_output: bool) -> None:
    """Show every setting, its value and its source; secrets are masked."""
    explained = _explained(context, json_output)
    if json_output:
        click.echo(json.dumps([_as_json(one) for one in explained], ensure_ascii=False, indent=2))
    else:
        click.echo(_table([(one.key, BY_KEY[one.key].shown(one.value), one.source) for one in explained]))


def _explained(context: ConfigContext, json_output: bool) -> list[Explained]:
    try:
        return explain(context.config_file, os.environ, context.options)
    except ConfigError as error:
        _refuse(error.problems, json_output)


def _refuse(problems: list[Problem], json_output: bool) -> NoReturn:
    """Problems go to standard error for people and to standard output for programs."""
    if json_output:
        click.echo(json.dumps({"ok": False, "problems": [vars(problem) for problem in problems]}))
    else:
        click.echo("\n".join(str(problem) for problem in problems), err=True)
    raise click.exceptions.Exit(BAD_SETTINGS)


def _sources(explained: list[Explained]) -> list[str]:
    """Each source that decided something, once, in the table's order."""
    return list(dict.fromkeys(one.source for one in explained if one.source != DEFAULT_SOURCE))


def _as_json(one: Explained) -> dict[str, object]:
    return {"key": one.key, "value": BY_KEY[one.key].masked(one.value), "source": one.source}


def _table(rows: list[tuple[str, str, str]]) -> str:
    """Three columns with a heading, each as wide as its longest entry."""
    lines = [("key", "value", "source"), *rows]
    key, value = (max(len(line[column]) for line in lines) for column in (0, 1))
    return "\n".join(f"{line[0]:{key}}  {line[1]:{value}}  {line[2]}".rstrip() for line in lines)
