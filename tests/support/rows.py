"""What is really in the tables, for tests that look behind the API."""

from datetime import datetime
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


def jobs(broker: Broker) -> list[dict[str, Any]]:
    """Every job with its message's times, in the order of their making; times as text, alike on both databases."""
    together = "SELECT j.*, m.receivedAt, m.deliverAt FROM job j JOIN message m ON m.id = j.messageId ORDER BY j.id"
    return [{name: _as_text(one) for name, one in row.items()} for row in rows(broker, together)]


def _as_text(one: Any) -> Any:
    return f"{one:%Y-%m-%d %H:%M:%S.%f}" if isinstance(one, datetime) else one
