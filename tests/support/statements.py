"""What a broker says to its database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from tests.support.brokers import Broker


@contextmanager
def statements(broker: Broker) -> Iterator[list[str]]:
    """Every statement while it lasts, in order."""
    seen: list[str] = []

    def listen(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        seen.append(statement)

    engine = broker.parts.database.engine
    event.listen(engine, "before_cursor_execute", listen)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", listen)
