"""What every long-running command does first."""

from broker.cli.context import CliContext
from broker.cli.errors import Refused
from broker.operations.parts import Parts
from broker.store import schema
from broker.store.probe import skips_locked
from broker.store.sweeping import sweep


def take(context: CliContext, **options: object) -> None:
    """Options that were given go before every other source of settings."""
    context.options.update({name: value for name, value in options.items() if value is not None})


def refuse_unfit(parts: Parts) -> None:
    """An old schema, or a server that does not skip locked rows, is refused with the reason."""
    schema.require_current(parts.database)
    if not parts.database.is_sqlite and not (finding := skips_locked(parts.database)).good:
        raise Refused(finding.advice)
    sweep(parts.database)
    parts.database.dispose()
