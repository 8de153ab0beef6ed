"""The schema's version: bring it up to date, say what differs, refuse what this program does not know."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, text
from sqlalchemy.exc import DBAPIError

from broker.domain.errors import Unavailable
from broker.resources import resource
from broker.store.engine import WRITES, Database
from broker.store.faults import Fault, fault_of
from broker.store.mysql import be_patient
from broker.store.tables import metadata
from broker.store.types import UtcDateTime

UPGRADE_LOCK = "broker-schema"
UPGRADE_LOCK_SECONDS = 9
_LIVE_COLUMNS = (
    "SELECT table_name, column_name, datetime_precision, collation_name FROM information_schema.columns"
    " WHERE table_schema = DATABASE()"
)


class SchemaMismatch(Exception):
    """The database's schema is not the one this program works with; the message says which command to run."""


class SchemaIsNewer(SchemaMismatch):
    """A newer version has migrated it: no reason to stop for those who run, but nobody starts on it."""


def upgrade(database: Database, to: str = "head") -> None:
    """Run the migrations that are missing; one process at a time."""
    _migrate(database, lambda config: command.upgrade(config, to))


def downgrade(database: Database, to: str) -> None:
    """Take migrations back, down to `to` (`base` for an empty database)."""
    _migrate(database, lambda config: command.downgrade(config, to))


def head() -> str:
    """The version this program works with."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def current(database: Database) -> str | None:
    """The version the database has, None when it has none."""
    return database.read("schema version", lambda c: MigrationContext.configure(c).get_current_revision())


def require_current(database: Database) -> None:
    """Refuse to work on a schema that is not this program's."""
    found, known = current(database), head()
    if found == known:
        return
    if found is None:
        raise SchemaMismatch("The database has no schema yet. Run: broker db upgrade")
    revisions = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if found in revisions:
        raise SchemaMismatch(f"The database has schema {found}, this program needs {known}. Run: broker db upgrade")
    raise SchemaIsNewer(
        f"The database has schema {found}, which this program (schema {known}) does not know. Install the newer broker."
    )


def differences(database: Database) -> list[str]:
    """What the live tables have that the program's tables do not, and the reverse."""
    return database.read("schema differences", _differences)


def _differences(connection: Connection) -> list[str]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    found = [_describe(item) for item in compare_metadata(context, metadata)]
    return found if connection.dialect.name == "sqlite" else found + _column_differences(connection)


def _column_differences(connection: Connection) -> list[str]:
    """Precision of times and collation of texts, which Alembic does not compare."""
    live = {(row[0], row[1]): (row[2], row[3]) for row in connection.execute(text(_LIVE_COLUMNS))}
    wanted = {(t.name, c.name): _precision_and_collation(c, connection) for t in metadata.sorted_tables for c in t.c}
    return [
        f"{table}.{column} has {live[table, column]}, not {expected} (precision, collation)"
        for (table, column), expected in wanted.items()
        if live.get((table, column), expected) != expected
    ]


def _precision_and_collation(column: Column[Any], connection: Connection) -> tuple[int | None, str | None]:
    collation = getattr(column.type.dialect_impl(connection.dialect), "collation", None)
    return 6 if isinstance(column.type, UtcDateTime) else None, collation


def _describe(item: object) -> str:
    if isinstance(item, list):
        return "; ".join(_describe(part) for part in item)
    parts = [str(getattr(part, "name", part)) for part in item] if isinstance(item, tuple) else [str(item)]
    return " ".join(part for part in parts if part != "None")


def _migrate(database: Database, run: Callable[[Config], None]) -> None:
    config = _config()
    try:
        with _only_one(database), database.engine.execution_options(**WRITES).connect() as connection:
            if not database.is_sqlite:
                be_patient(connection)
            config.attributes["connection"] = connection
            run(config)
    except DBAPIError as error:
        if fault_of(error) is Fault.BUG:
            raise
        raise Unavailable("The schema could not be changed now. Run the command again when it can.") from error


@contextmanager
def _only_one(database: Database) -> Iterator[None]:
    """A server-wide lock on MySQL, in a session of its own; on SQLite the one transaction of all migrations serves."""
    if database.is_sqlite:
        yield
        return
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
        if not session.execute(text(f"SELECT GET_LOCK('{UPGRADE_LOCK}', {UPGRADE_LOCK_SECONDS})")).scalar():
            raise SchemaMismatch(
                "Another process is changing the schema. Wait until it is done and run the command again."
            )
        be_patient(session)
        try:
            yield
        finally:
            session.execute(text(f"SELECT RELEASE_LOCK('{UPGRADE_LOCK}')"))


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(resource("migrations")).replace("%", "%%"))
    return config
