"""How SQLite answers the statements of the summary: by job_dead and primary keys, never by walking the jobs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.integration.dlq_plans import CASES, HOT, Dead, dead
from tests.integration.plans import _captured

TAIL_SEARCH = "SEARCH job USING COVERING INDEX job_dead (consumerId=? AND deadAt>?"
STRETCH_SEARCH = "job USING INDEX job_dead (consumerId=? AND deadAt>? AND deadAt<?)"
SEARCHES = {
    "status": TAIL_SEARCH + ")",
    "oldest deaths": TAIL_SEARCH + ")",
    "count for a checkpoint": TAIL_SEARCH,
    "length of a tail": TAIL_SEARCH,
    "n-th death": TAIL_SEARCH,
    "find a stretch": TAIL_SEARCH + " AND deadAt<?)",
    "delete a chunk": STRETCH_SEARCH,
    "requeue a chunk": STRETCH_SEARCH,
    "archive a chunk": STRETCH_SEARCH,
    "rows to move": STRETCH_SEARCH,
}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dead]:
    """A file with some dead."""
    path: Path = tmp_path_factory.mktemp("dead") / "broker.sqlite3"
    with dead(f"sqlite:///{path}", 2000) as made:
        yield made


def lines(many: Dead, name: str) -> list[str]:
    """The plans of all statements of a case, line by line."""
    database = many.parts.database
    with database.engine.connect() as connection:
        with _captured(database) as statements:
            CASES[name].work(many, connection)
        connection.rollback()
        return [line for statement in statements for line in _plan(connection, *statement)]


def _plan(connection: Connection, statement: str, parameters: object) -> list[str]:
    if " VALUES (" in statement:
        return []
    given = parameters[0] if isinstance(parameters, list) else parameters
    return [one[3] for one in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CASES)
def test_sqlite_goes_by_an_index(many: Dead, name: str) -> None:
    found = lines(many, name)
    assert [line for line in found if SEARCHES.get(name, "SEARCH") in line], found
    assert not [line for line in found if line.startswith("SCAN") and line.split()[1] in HOT], found
