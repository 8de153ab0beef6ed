"""What a command tells when it cannot do its work, and with which exit code."""

from typing import Any

import click

from broker.config import ConfigError
from broker.domain.errors import BrokerError, Invalid, Unavailable
from broker.store.schema import SchemaMismatch


class Refused(click.ClickException):
    """The broker said no, or what was asked for is not there."""

    exit_code = 1


class BadSettings(click.ClickException):
    """The settings cannot be used."""

    exit_code = 2


class Unreachable(click.ClickException):
    """The server or the database cannot be reached, or cannot serve now."""

    exit_code = 3


class Telling(click.Group):
    """Commands whose expected errors are told in a sentence, not in a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (BrokerError, ConfigError, SchemaMismatch) as error:
            raise told(error) from error


def told(error: BrokerError | ConfigError | SchemaMismatch) -> click.ClickException:
    """An expected error as the command line shows it."""
    if isinstance(error, ConfigError):
        return BadSettings(str(error))
    if isinstance(error, Unavailable):
        return Unreachable(f"{_driver_says(error)}{error.detail} [{error.code}]")
    return Refused(sentence(error) if isinstance(error, BrokerError) else str(error))


def sentence(error: BrokerError) -> str:
    """The refusal and its code; several fields at fault have a line each."""
    if isinstance(error, Invalid) and len(error.problems) > 1:
        lines = [f"\n  {problem.field}: {problem.message}" for problem in error.problems]
        return f"{len(lines)} fields are wrong [{error.code}]{''.join(lines)}"
    return f"{in_words(error)} [{error.code}]"


def in_words(error: BrokerError) -> str:
    """The refusal without its code, in the command line's own terms."""
    return error.detail.replace("force=true", "--force")


def _driver_says(error: BrokerError) -> str:
    """What the database's driver said, without the statement."""
    said = getattr(getattr(error.__cause__, "orig", None), "args", ())
    return f"{said[-1]}. " if said else ""
