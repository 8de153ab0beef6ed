"""`broker config`: what is wrong with the settings, where each value comes from, and which settings there are."""

import json
import os
from pathlib import Path
from typing import NoReturn, Protocol

import click

from broker.cli.output import note, show_json, table
from broker.cli.settings_reference import as_json, as_markdown
from broker.config import DEFAULT_SOURCE, ConfigError, Explained, Problem, explain
from broker.domain.settings import BY_KEY

BAD_SETTINGS = 2


class ConfigContext(Protocol):
    """The part of the command line's context that says which sources to read."""

    config_file: Path | None
    options: dict[str, object]


@click.group()
def config() -> None:
    """Check and show the settings, and tell which there are.

    \b
    broker config check
    broker config show
    broker config reference
    """


@config.command()
@click.option("--json", "json_output", is_flag=True, help="Answer in JSON.")
@click.pass_obj
def check(context: ConfigContext, json_output: bool) -> None:
    """Check every source of settings and report all problems at once; tells where each value came from that is not a
    default. Exit code 2 when there is a problem.

    \b
    broker config check
    broker --config production.toml config check --json
    """
    explained = _explained(context, json_output)
    given = [one for one in explained if one.source != DEFAULT_SOURCE]
    for one in given:
        if BY_KEY[one.key].reserved:
            note(f"{one.key} ({one.source}) is reserved: it has no effect yet.")
    if json_output:
        values = [_as_json(one) for one in given]
        click.echo(json.dumps({"ok": True, "sources": _sources(given), "values": values, "problems": []}))
    else:
        click.echo(f"The settings are ok (from {', '.join(_sources(given)) or 'defaults only'}).")
        if given:
            click.echo(_values(given))


@config.command()
@click.option("--json", "json_output", is_flag=True, help="Answer in JSON.")
@click.pass_obj
def show(context: ConfigContext, json_output: bool) -> None:
    """Show every setting, its value and its source; secrets are masked.

    \b
    broker config show
    BROKER_MAX_RETRIES=5 broker config show --json
    """
    explained = _explained(context, json_output)
    if json_output:
        click.echo(json.dumps([_as_json(one) for one in explained], ensure_ascii=False, indent=2))
    else:
        click.echo(_values(explained))


@config.command()
@click.option("--json", "json_output", is_flag=True, help="Answer in JSON.")
def reference(json_output: bool) -> None:
    """Describe every setting there is, as a page of Markdown: key, environment, default, range, who may have an own
    value, what it is for.

    \b
    broker config reference
    broker config reference --json
    """
    if json_output:
        show_json(as_json())
    else:
        click.echo(as_markdown(), nl=False)


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


def _sources(given: list[Explained]) -> list[str]:
    """Each source that decided something, once, in the table's order."""
    return list(dict.fromkeys(one.source for one in given))


def _as_json(one: Explained) -> dict[str, object]:
    return {"key": one.key, "value": BY_KEY[one.key].masked(one.value), "source": one.source}


def _values(explained: list[Explained]) -> str:
    """Three columns with a heading."""
    rows = [(one.key, BY_KEY[one.key].shown(one.value), one.source) for one in explained]
    return table([("key", "value", "source"), *rows])
