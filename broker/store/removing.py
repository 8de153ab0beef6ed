"""Rows are removed by their primary key, many in one statement."""

import json
from collections.abc import Sequence

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
