"""Whether the broker can serve, and what it is."""

from datetime import datetime

from broker import __version__
from broker.domain.errors import Unavailable
from broker.domain.times import show_time
from broker.operations.parts import Parts
from broker.store import schema
from broker.store.probe import server_version


def check_ready(parts: Parts) -> None:
    """The database answers, and has the schema this program works with or one that a newer version made of it since
    this one started; raises Unavailable."""
    try:
        schema.require_current(parts.database)
    except schema.SchemaIsNewer:
        return
    except schema.SchemaMismatch as error:
        raise Unavailable(str(error)) from error


def show_status(parts: Parts, started_at: datetime) -> dict[str, object]:
    """What an operator wants to know of an instance; shows no secret."""
    return {
        "version": __version__,
        "brokerId": parts.settings.broker_id,
        "startedAt": show_time(started_at),
        "database": parts.database.read("server version", server_version),
        "schema": schema.current(parts.database),
        "settings": parts.settings.masked(),
    }
