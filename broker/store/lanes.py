"""Which lanes have work. A lane is one consumer's jobs of one priority."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from broker.store.engine import Database
from broker.store.moments import SqlTime, as_time

# Two dives per lane, whatever its length: a loose index scan on MySQL, spelled out on SQLite. Index: job_due.
_LOOSE = "SELECT consumerId, priority, MIN(earliestNextAttemptAt), NOW(6) FROM job GROUP BY consumerId, priority"
_STEPS = """
WITH RECURSIVE lane (consumerId, priority) AS (
  SELECT * FROM (SELECT consumerId, priority FROM job INDEXED BY job_due ORDER BY consumerId, priority LIMIT 1)
  UNION ALL
  SELECT following.consumerId, following.priority FROM lane JOIN job AS following ON following.rowid = COALESCE(
    (SELECT rowid FROM job INDEXED BY job_due
     WHERE consumerId = lane.consumerId AND priority > lane.priority ORDER BY priority LIMIT 1),
    (SELECT rowid FROM job INDEXED BY job_due
     WHERE consumerId > lane.consumerId ORDER BY consumerId, priority LIMIT 1))
)
SELECT consumerId, priority, (
  SELECT earliestNextAttemptAt FROM job INDEXED BY job_due
  WHERE consumerId = lane.consumerId AND priority = lane.priority AND earliestNextAttemptAt IS NOT NULL
  ORDER BY earliestNextAttemptAt LIMIT 1), broker_now()
FROM lane
"""
_FIRST_MYSQL = "(SELECT MIN(earliestNextAttemptAt) FROM job WHERE consumerId = {key} AND priority = {priority})"
_FIRST_SQLITE = (
    "(SELECT earliestNextAttemptAt FROM job INDEXED BY job_due WHERE consumerId = {key} AND priority = {priority}"
    " AND earliestNextAttemptAt IS NOT NULL ORDER BY earliestNextAttemptAt LIMIT 1)"
)
_SLOW_SECONDS, _SLOW_LANE_SECONDS = 0.02, 0.0001


class Lane(NamedTuple):
    """A lane, and in how many seconds its first job is due: none or less when it is due now."""

    consumer_key: int
    priority: int
    due_in: float


def scan_statement(sqlite: bool) -> str:
    """Finds every lane, with the time of its first waiting job and the present time. Index: job_due."""
    return _STEPS if sqlite else _LOOSE


def waiting_lanes(database: Database) -> list[Lane]:
    """Every lane with a job that waits, by the database's clock."""
    rows = database.look("scan lanes", scan_statement(database.is_sqlite))
    return [Lane(row[0], row[1], _seconds(row[2], row[3])) for row in rows if row[2] is not None]


def is_slow(seconds: float, lanes: int) -> bool:
    """Whether a scan took suspiciously long for what it found."""
    return seconds >= _SLOW_SECONDS + lanes * _SLOW_LANE_SECONDS


def mend_plan(connection: Connection, seconds: float, lanes: int) -> bool:
    """After a scan that took suspiciously long: when old statistics made the server read every entry, renew them."""
    if connection.dialect.name == "sqlite" or not is_slow(seconds, lanes):
        return False
    plan = connection.exec_driver_sql(f"EXPLAIN FORMAT=TRADITIONAL {_LOOSE}").mappings().one()
    if "group-by" in (plan["Extra"] or ""):
        return False
    connection.exec_driver_sql("ANALYZE TABLE job").all()
    return True


def due_priorities(connection: Connection, time: SqlTime, consumer_key: int) -> list[int]:
    """The priorities of a consumer that have a job due, highest first: ten look-ups at once. Index: job_due."""
    first = _FIRST_SQLITE if connection.dialect.name == "sqlite" else _FIRST_MYSQL
    columns = [first.format(key=int(consumer_key), priority=priority) for priority in range(9, -1, -1)]
    row = connection.exec_driver_sql(f"SELECT {', '.join(columns)}, {time.now}").one()
    return [9 - at for at, due in enumerate(row[:10]) if due is not None and as_time(due) <= as_time(row[10])]


def _seconds(due_at: datetime | str, now: datetime | str) -> float:
    return (as_time(due_at) - as_time(now)).total_seconds()
