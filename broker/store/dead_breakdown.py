"""Why the newest dead died: a bounded number of them, grouped."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from broker.store.dead_tails import dead_index

CONSUMERS_PER_STATEMENT = 100
_COLUMNS = "deadReason, errorCategory, appliedPolicy"


@dataclass(frozen=True, slots=True)
class Group:
    """So many dead that have this in common."""

    reason: str | None
    category: str | None
    policy: str | None
    count: int


def groups(connection: Connection, keys: Sequence[int], most: int) -> list[Group]:
    """The newest `most` dead of each consumer. Index: job_dead, a range each; the rows for what is grouped by."""
    part = (
        f"SELECT {_COLUMNS} FROM (SELECT {_COLUMNS} FROM {dead_index(connection)} WHERE consumerId = {{key}}"
        f" AND deadAt > '1970-01-01 00:00:00' ORDER BY deadAt DESC, id DESC LIMIT {int(most)}) AS newest"
    )
    found: list[Group] = []
    for at in range(0, len(keys), CONSUMERS_PER_STATEMENT):
        some = " UNION ALL ".join(part.format(key=int(key)) for key in keys[at : at + CONSUMERS_PER_STATEMENT])
        statement = f"SELECT {_COLUMNS}, COUNT(*) FROM ({some}) AS dead GROUP BY {_COLUMNS}"
        found += [Group(*row) for row in connection.exec_driver_sql(statement)]
    return found
