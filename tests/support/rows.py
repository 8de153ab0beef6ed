"""What is really in the tables, for tests that look behind the API."""

from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.engine import RowMapping

from broker.store.tables import metadata
from tests.support.brokers import Broker


def rows(broker: Broker, statement: str, **values: object) -> list[RowMapping]:
    """The rows of a query; columns by name."""
    return broker.parts.database.read("test", lambda c: list(c.execute(text(statement), values).mappings()))


def value(broker: Broker, statement: str, **values: object) -> Any:
    """The only value of a query."""
    return broker.parts.database.read("test", lambda c: c.execute(text(statement), values).scalar())


def count(broker: Broker, table: str) -> int:
    """How many rows a table has."""
    counting = select(func.count()).select_from(metadata.tables[table])
    return broker.parts.database.read("test", lambda c: int(c.execute(counting).scalar_one()))


def counts(broker: Broker) -> dict[str, int]:
    """The tables that are not empty, and how many rows each has."""
    return {name: found for name in sorted(metadata.tables) if (found := count(broker, name))}


def everything(broker: Broker) -> str:
    """All rows of all tables as one text."""
    return broker.parts.database.read(
        "test", lambda c: repr([tuple(row) for table in metadata.sorted_tables for row in c.execute(table.select())])
    )


def execute(broker: Broker, statement: str, **values: object) -> None:
    """Change rows behind the API's back."""
    broker.parts.database.write("test", lambda c: c.execute(text(statement), values))
