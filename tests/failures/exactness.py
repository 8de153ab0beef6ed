"""What must hold in the database after any failure: all of a message or nothing of it, and never twice."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, text

from broker.domain.clock import Clock
from broker.store.engine import Database


@dataclass(frozen=True)
class Stored:
    """The messages of a database with the consumers that have a job of each, and jobs that belong to nothing."""

    jobs: dict[str, list[int]]
    rows: int
    orphans: int


def stored(database_url: str) -> Stored:
    """Read everything anew."""
    database = Database(database_url, Clock())
    try:
        return database.read("exactness", _stored)
    finally:
        database.dispose()


def _stored(connection: Connection) -> Stored:
    jobs: dict[str, list[int]] = {}
    joined = "SELECT m.messageId, j.consumerId FROM message m LEFT JOIN job j ON j.messageId = m.id"
    for message_id, consumer in connection.execute(text(joined)):
        jobs.setdefault(message_id, []).extend([] if consumer is None else [consumer])
    rows = connection.execute(text("SELECT COUNT(*) FROM message")).scalar_one()
    lost = "SELECT COUNT(*) FROM job j LEFT JOIN message m ON m.id = j.messageId WHERE m.id IS NULL"
    return Stored(jobs, rows, connection.execute(text(lost)).scalar_one())


def assert_exact(database_url: str, promised: Iterable[str], consumers: int) -> Stored:
    """Every promised message is there; whatever is there is there once, with one job for each consumer."""
    found = stored(database_url)
    assert set(promised) <= found.jobs.keys()
    assert found.rows == len(found.jobs)
    assert found.orphans == 0
    wrong = {key: jobs for key, jobs in found.jobs.items() if len(jobs) != consumers or len(set(jobs)) != consumers}
    assert not wrong
    return found
