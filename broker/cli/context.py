"""What every command shares: settings, and the way to the broker."""

import logging
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from broker.cli.backend import Backend
from broker.cli.errors import Unreachable
from broker.cli.local import LocalBackend
from broker.cli.remote import RemoteBackend
from broker.cli.server import Server
from broker.config import Settings, load
from broker.operations.parts import Parts
from broker.store import schema
from broker.wiring import build_parts

_QUIET = logging.NullHandler()


@dataclass(slots=True)
class CliContext:
    """The global options; a server's address when the command shall go there, else the database is used directly.

    `ca_file` and `seconds` are for a server: whom to trust, and how long to wait."""

    config_file: Path | None = None
    options: dict[str, object] = field(default_factory=dict)
    url: str | None = None
    token: str | None = None
    asked_for_server: bool = False
    ca_file: Path | None = None
    seconds: float | None = None

    def load_settings(self) -> Settings:
        """Defaults < file < environment < options."""
        return load(self.config_file, os.environ, self.options)

    def refuse_server(self) -> None:
        """For commands that a server cannot do."""
        if self.asked_for_server:
            raise click.UsageError("This command works on the database, so it cannot be given --url.")

    def parts(self) -> Parts:
        """The broker's parts on the configured database."""
        self.refuse_server()
        settings = self.load_settings()
        try:
            return build_parts(settings)
        except OSError as error:
            raise Unreachable(f"The database cannot be opened: {error}") from error

    @contextmanager
    def backend(self) -> Iterator[Backend]:
        """The server when there is an address, else the database, whose schema must be this program's."""
        if self.url is not None:
            with closing(Server(self.url, self.token, self.ca_file, self.seconds)) as server:
                yield RemoteBackend(server)
            return
        logging.getLogger("broker").addHandler(_QUIET)
        parts = self.parts()
        try:
            schema.require_current(parts.database)
            yield LocalBackend(parts)
        finally:
            parts.database.dispose()


def make_context(
    ctx: click.Context, config_file: Path | None, database_url: str | None, url: str | None, token: str | None
) -> CliContext:
    """A database that was asked for by option goes before a server that only the environment names."""
    asked = ctx.get_parameter_source("url") is click.core.ParameterSource.COMMANDLINE
    if asked and database_url is not None:
        raise click.UsageError("Give --url or --database-url, not both.")
    options: dict[str, object] = {} if database_url is None else {"database_url": database_url}
    return CliContext(config_file, options, url if database_url is None else None, token, asked)
