"""Rows are removed by their primary key, many in one statement."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, text

IDS_PER_STATEMENT = 150
_IDS = "JSON_TABLE(:ids, '$[*]' COLUMNS (id CHAR(20) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) AS wanted"


def remove(connection: Connection, table: Table, column: str, ids: Sequence[str]) -> None:
    """Delete by the primary key. MySQL joins from the ids: given a list it may scan, and wait for strangers' rows."""
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        chunk = list(ids[start : start + IDS_PER_STATEMENT])
        if connection.dialect.name == "sqlite":
            connection.execute(delete(table).where(table.c[column].in_(chunk)))
        else:
            joined = f"DELETE {table.name} FROM {_IDS} STRAIGHT_JOIN {table.name} ON {table.name}.{column} = wanted.id"
            connection.execute(text(joined), {"ids": json.dumps(chunk)})


def remove_with(connection: Connection, table: str, column: str, jobs: str, where: str, values: dict[str, Any]) -> None:
    """Delete what hangs on the jobs that a condition finds. Primary key of the table, joined from them."""
    if connection.dialect.name == "sqlite":
        statement = f"DELETE FROM {table} WHERE {column} IN (SELECT job.id FROM {jobs} WHERE {where})"
    else:
        statement = f"DELETE {table} FROM {jobs} STRAIGHT_JOIN {table} ON {table}.{column} = job.id WHERE {where}"
    connection.execute(text(statement), values)
