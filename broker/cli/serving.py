"""`broker serve` and `broker up`."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

import click

from broker.cli.context import CliContext
from broker.cli.errors import Refused
from broker.cli.fitness import refuse_unfit, take
from broker.cli.welcome import address, kept_token, welcome
from broker.config import Settings
from broker.runtime.companion import Companion
from broker.runtime.cores import http_threads, http_workers
from broker.runtime.server import CannotListen, Serving
from broker.runtime.server import serve as serve_http
from broker.store import schema

TARGET = "broker.api.wsgi:application"


@click.command()
@click.option("--listen", metavar="HOST:PORT", help="Where to listen.")
@click.option("--http-workers", type=int, help="Serving processes.")
@click.pass_obj
def serve(context: CliContext, listen: str | None, http_workers: int | None) -> None:
    """Serve the HTTP API; the schema must be up to date.

    \b
    broker db upgrade
    broker serve --listen 0.0.0.0:8080
    """
    take(context, listen=listen, http_workers=http_workers)
    parts = context.parts()
    refuse_unfit(parts)
    _run(parts.settings, f"Broker {parts.settings.broker_id!r} serves at {address(parts.settings)}", _bookkeeper)


@click.command()
@click.option("--listen", metavar="HOST:PORT", help="Where to listen.")
@click.pass_obj
def up(context: CliContext, listen: str | None) -> None:
    """Everything in one process tree, on SQLite in ./var unless configured otherwise.

    Upgrades its own SQLite file; makes an admin token when none is set and keeps it beside the file.
    """
    take(context, listen=listen)
    settings = context.load_settings()
    if settings.admin_token is None:
        context.options["admin_token"] = kept_token(settings)
    parts = context.parts()
    if parts.database.is_sqlite:
        schema.upgrade(parts.database)
    refuse_unfit(parts)
    _run(parts.settings, welcome(parts.settings), _engine)


def _engine() -> Companion:
    """`broker work`, which keeps the books too, and ends with this process."""
    return _companion("work")


def _bookkeeper() -> Companion:
    """`broker checkpoint`, which ends with this process."""
    return _companion("checkpoint")


def _companion(command: str) -> Companion:
    return Companion([sys.executable, "-m", "broker", command, "--until-ends", str(os.getpid())])


def _run(settings: Settings, greeting: str, beside: Callable[[], AbstractContextManager[object]]) -> None:
    one_writer = settings.database_url.startswith("sqlite")
    how = Serving(
        settings.listen.host,
        settings.listen.port,
        http_workers(settings.http_workers, one_writer),
        http_threads(settings.http_threads),
    )
    try:
        serve_http(TARGET, how, settings.to_environment(), lambda: click.echo(greeting), beside)
    except CannotListen as error:
        raise Refused(str(error)) from error
    click.echo("Stopped.")
