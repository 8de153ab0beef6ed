"""How many jobs wait for a consumer, counted in the index alone and up to a bound, so that a backlog costs no more."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

CONSUMERS_PER_STATEMENT = 100
_INDEX = {True: "INDEXED BY job_due", False: "FORCE INDEX (job_due)"}
_DEPTH = (
    "SELECT {key}, COUNT(*) FROM (SELECT 1 FROM job {index} WHERE consumerId = {key} AND priority IN ({priorities})"
    " AND earliestNextAttemptAt > '1970-01-01 00:00:00' LIMIT {most}) AS waiting"
)


def depths(connection: Connection, priorities: Mapping[int, Sequence[int]], most: int) -> dict[int, int]:
    """Those that wait in these lanes (by consumer), up to `most` of each consumer. Index: job_due, a range for each."""
    index, keys = _INDEX[connection.dialect.name == "sqlite"], list(priorities)
    found: dict[int, int] = {}
    for at in range(0, len(keys), CONSUMERS_PER_STATEMENT):
        parts = [_part(key, priorities[key], index, most) for key in keys[at : at + CONSUMERS_PER_STATEMENT]]
        found.update({row[0]: row[1] for row in connection.exec_driver_sql(" UNION ALL ".join(parts))})
    return found


def _part(key: int, priorities: Sequence[int], index: str, most: int) -> str:
    listed = ",".join(str(int(one)) for one in priorities)
    return _DEPTH.format(key=int(key), index=index, priorities=listed, most=int(most))
