"""A command that is a monitoring plugin: whatever goes wrong, it answers in one line, with exit code 3."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from broker.cli.errors import Telling, told
from broker.cli.plugin_output import one_line
from broker.config import ConfigError
from broker.domain.alerts import Level
from broker.domain.errors import BrokerError
from broker.store.schema import SchemaMismatch


class Unknown(click.ClickException):
    """What was to be checked is not known."""

    exit_code = Level.UNKNOWN

    def show(self, file: IO[Any] | None = None) -> None:
        """On standard output: monitoring reads nothing else."""
        told = "; ".join(line.strip() for line in self.message.splitlines())
        click.echo(f"DLQ UNKNOWN - {one_line(told)}", file=file)


class Plugin(click.Command):
    """Wrong usage is unknown too; so is help, which checks nothing."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Read the options."""
        try:
            with _unknown():
                return super().make_context(*arguments, **more)
        except click.exceptions.Exit:
            raise click.exceptions.Exit(Level.UNKNOWN) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the check."""
        with _unknown():
            return super().invoke(ctx)


class TellingPlugins(Telling):
    """A group that may hold plugins: what is wrong with its own options is unknown for them too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options before the command."""
        if not any(isinstance(self.commands.get(word), Plugin) for word in args):
            return super().parse_args(ctx, args)
        with _unknown():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if isinstance(self.commands.get(str(ctx.invoked_subcommand)), Plugin):
                raise _as_unknown(error) from error
            raise


@contextmanager
def _unknown() -> Iterator[None]:
    try:
        yield
    except (click.exceptions.Exit, click.exceptions.Abort):
        raise
    except click.ClickException as error:
        raise _as_unknown(error) from error
    except (BrokerError, ConfigError, SchemaMismatch) as error:
        raise _as_unknown(told(error)) from error
    except Exception as error:  # a traceback would end with 1, and monitoring would take it for a warning
        raise Unknown(f"A fault in this program: {type(error).__name__}: {error}") from error


def _as_unknown(error: click.ClickException) -> Unknown:
    return error if isinstance(error, Unknown) else Unknown(error.format_message())
