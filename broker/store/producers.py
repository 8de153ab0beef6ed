"""Producers: a deleted one keeps its row, since its messages still name it."""

from typing import Any

from sqlalchemy import Connection, insert, select, update

from broker.domain.pages import Cursor, Page
from broker.domain.registry import Producer
from broker.store.paging import Order, fetch_page
from broker.store.tables import producer as t
from broker.store.types import AnyRow, now

_COLUMNS = (t.c.id, t.c.producerId, t.c.name, t.c.tokenHash, t.c.changedAt, t.c.revision)


def find(connection: Connection, producer_id: str, lock: bool = False) -> Producer | None:
    """The living producer of this id. Index: producer_public."""
    query = select(*_COLUMNS).where(t.c.producerId == producer_id, t.c.deletedAt.is_(None))
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None else _producer(row)


def create(connection: Connection, producer_id: str, values: dict[str, Any]) -> None:
    """A new producer, or a deleted one of the same id brought back. Raises Duplicate when it lives."""
    again = update(t).where(t.c.producerId == producer_id, t.c.deletedAt.is_not(None))
    values = {**values, "changedAt": now(), "deletedAt": None}
    revived = connection.execute(again.values(**values, revision=t.c.revision + 1))
    if revived.rowcount == 0:
        connection.execute(insert(t).values(**values, producerId=producer_id, createdAt=now(), revision=1))


def change(connection: Connection, key: int, values: dict[str, Any]) -> None:
    """Write the given columns. Primary key."""
    connection.execute(update(t).where(t.c.id == key).values(**values, changedAt=now(), revision=t.c.revision + 1))


def bury(connection: Connection, key: int) -> None:
    """It is no longer found, but its messages still name it."""
    connection.execute(update(t).where(t.c.id == key).values(deletedAt=now(), revision=t.c.revision + 1))


def page(connection: Connection, cursor: Cursor | None, limit: int) -> Page[str]:
    """Ids of the living, newest first. Primary key."""
    query = select(t.c.id, t.c.producerId).where(t.c.deletedAt.is_(None))
    return fetch_page(connection, query, Order((t.c.id,)), cursor, limit, lambda row: str(row[1]))


def _producer(row: AnyRow) -> Producer:
    return Producer(*row)
