"""What every SQLite connection is set to: WAL, one writer at a time, the broker's clock."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event, make_url
from sqlalchemy.pool import PoolProxiedConnection

from broker.domain.clock import Clock

BUSY_SECONDS = 5
TIME_FORMAT = "%Y-%m-%d %H:%M:%S.%f"


def engine_options(url: str, pool_size: int) -> dict[str, Any]:
    """A pool of connections to one file; the file's folder is made when it is missing."""
    path = make_url(url).database
    if path and path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    return {
        "pool_size": pool_size,
        "max_overflow": 0,
        "pool_timeout": BUSY_SECONDS,
        "connect_args": {"timeout": BUSY_SECONDS},
    }


def prepare(engine: Engine, clock: Clock) -> None:
    """Set up each new connection; writers take the lock at BEGIN, so they never deadlock half way."""

    @event.listens_for(engine, "connect")
    def _connection(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        connection.create_function("broker_now", 0, lambda: clock.now().strftime(TIME_FORMAT))
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("broker_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def ready_to_look(session: PoolProxiedConnection, clock: Clock) -> None:
    """Nothing is missing: without BEGIN each statement is a transaction by itself."""
