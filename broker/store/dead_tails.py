"""Deaths that no checkpoint has counted, by ranges of job_dead: each as long as the deaths in it, none longer.

MySQL cannot go into an index with a bound that it reads from another table, so the bounds are given as values. Who uses
them makes sure that they still hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from broker.store.bulk import time_text
from broker.store.moments import as_time


class Tail(NamedTuple):
    """What died of these consumers after a moment, up to another where one is given."""

    keys: tuple[int, ...]
    low: datetime
    high: datetime | None = None

    def sql(self) -> str:
        """The condition on job; index job_dead."""
        listed = ",".join(str(int(key)) for key in self.keys)
        until = "" if self.high is None else f" AND deadAt <= '{time_text(self.high)}'"
        return f"(consumerId IN ({listed}) AND deadAt > '{time_text(self.low)}'{until})"


def tails_of(checked_at: Mapping[int, datetime], high: datetime | None = None) -> list[Tail]:
    """One tail for all consumers that stand at the same checkpoint; mostly there is one such checkpoint only."""
    keys: dict[datetime, list[int]] = {}
    for key, low in sorted(checked_at.items()):
        keys.setdefault(low, []).append(key)
    return [Tail(tuple(listed), low, high) for low, listed in keys.items() if high is None or low < high]


def within(tails: Iterable[Tail]) -> str:
    """The condition for any of them."""
    return " OR ".join(tail.sql() for tail in tails)


def dead_index(connection: Connection) -> str:
    """The job table, to be read by job_dead only."""
    return f"job {'INDEXED BY job_dead' if connection.dialect.name == 'sqlite' else 'FORCE INDEX (job_dead)'}"


def length(connection: Connection, tails: Sequence[Tail], most: int) -> int:
    """How many deaths there are, counted to `most`. Index: job_dead, covering."""
    found = 0
    for tail in tails:
        statement = (
            f"SELECT COUNT(*) FROM (SELECT 1 FROM {dead_index(connection)} WHERE {tail.sql()}"
            f" LIMIT {int(most - found)}) AS tail"
        )
        found += int(connection.exec_driver_sql(statement).scalar_one())
        if found >= most:
            break
    return found


def count_deaths(connection: Connection, tail: Tail, lock: bool = True) -> dict[int, int]:
    """How many died, by consumer; waits for those that are written and not yet committed. Index: job_dead, covering.

    Locks the entries in share mode, which new deaths do not meet.
    """
    share = " LOCK IN SHARE MODE" if lock and connection.dialect.name != "sqlite" else ""
    statement = (
        f"SELECT consumerId, COUNT(*) FROM {dead_index(connection)} WHERE {tail.sql()} GROUP BY consumerId{share}"
    )
    return {row[0]: int(row[1]) for row in connection.exec_driver_sql(statement)}


def nth_death(connection: Connection, tail: Tail, number: int) -> datetime | None:
    """When the n-th of one consumer's tail died, if there are so many. Index: job_dead, covering."""
    statement = (
        f"SELECT deadAt FROM {dead_index(connection)} WHERE {tail.sql()}"
        f" ORDER BY consumerId, deadAt, id LIMIT 1 OFFSET {int(number - 1)}"
    )
    found = connection.exec_driver_sql(statement).scalar()
    return None if found is None else as_time(found)
