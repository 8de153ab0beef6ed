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
from broker.operations.parts import Parts
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
@click.option("--demo", is_flag=True, help="With a channel that has something to show; see `broker demo`.")
@click.option("--demo-on-server", is_flag=True, help="The same where the database is not SQLite.")
@click.pass_obj
def up(context: CliContext, listen: str | None, demo: bool, demo_on_server: bool) -> None:
    """Everything in one process tree, on SQLite in ./var unless configured otherwise.

    Upgrades its own SQLite file; makes an admin token when none is set and keeps it beside the file.

    \b
    broker up
    broker up --demo
    """
    take(context, listen=listen)
    settings = context.load_settings()
    if settings.admin_token is None:
        context.options["admin_token"] = kept_token(settings)
    if demo or demo_on_server:
        _allow_demo(context, demo_on_server)
    parts = context.parts()
    if parts.database.is_sqlite:
        schema.upgrade(parts.database)
    refuse_unfit(parts)
    if demo or demo_on_server:
        _run_demo(parts)
    else:
        _run(parts.settings, welcome(parts.settings), _engine)


def _allow_demo(context: CliContext, on_server: bool) -> None:
    from broker.cli import demo_mode  # noqa: PLC0415 - without the demo nothing of it is loaded

    demo_mode.allow(context, on_server)


def _run_demo(parts: Parts) -> None:
    from broker.cli import demo_mode  # noqa: PLC0415 - without the demo nothing of it is loaded

    _run(parts.settings, demo_mode.greeting(parts.settings), lambda: demo_mode.beside(parts, companion))


def _engine() -> Companion:
    """`broker work`, which keeps the books too, and ends with this process."""
    return companion("work")


def _bookkeeper() -> Companion:
    """`broker checkpoint`, which ends with this process."""
    return companion("checkpoint")


def companion(*command: str) -> Companion:
    """A command of ours that ends with this process."""
    return Companion([sys.executable, "-m", "broker", *command, "--until-ends", str(os.getpid())])


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
