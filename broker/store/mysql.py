"""What every MySQL or MariaDB session is set to."""

import time
from typing import Any

from pymysql.constants import SERVER_STATUS
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import PoolProxiedConnection

from broker.domain.clock import Clock

CONNECT_SECONDS = 3
SOCKET_SECONDS = 12  # longer than a statement may take: the server speaks first, when it still speaks
STATEMENT_SECONDS = 10
LOCK_SECONDS = 3
METADATA_LOCK_SECONDS = 5
IDLE_SECONDS = 60  # in a transaction: of a process that stands still, or whose machine is gone
RECYCLE_SECONDS = 600
PATIENT_LOCK_SECONDS = 60
PATIENT_IDLE_SECONDS = 86_400
POOL_WAIT_SECONDS = 5
MOVED = "broker_clock_moved"
RESTS_SINCE = "broker_rests_since"


def engine_options(pool_size: int) -> dict[str, Any]:
    """READ COMMITTED (MYSQL.md 3), found rows as SQLAlchemy wants them, every wait bounded."""
    return {
        "pool_size": pool_size,
        "max_overflow": 0,
        "pool_timeout": POOL_WAIT_SECONDS,
        "pool_recycle": RECYCLE_SECONDS,
        "pool_reset_on_return": None,
        "isolation_level": "READ COMMITTED",
        "connect_args": {
            "charset": "utf8mb4",
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": CONNECT_SECONDS,
            "write_timeout": SOCKET_SECONDS,
        },
    }


def prepare(engine: Engine, clock: Clock) -> None:
    """Set up each new session, and let a moved clock move the database's NOW() too."""
    _replace_rested(engine)

    @event.listens_for(engine, "connect")
    def _session(connection: Any, record: Any) -> None:
        """A server that takes connections and says nothing is found out soon; a statement may take its time."""
        with connection.cursor() as cursor:
            cursor.execute(session_statement(_is_mariadb(connection)))
        connection._read_timeout = SOCKET_SECONDS

    @event.listens_for(engine, "reset")
    def _reset(connection: Any, record: Any, state: Any) -> None:
        """Back to the pool without a transaction; the last answer says whether one is open, so nobody asks again."""
        if not state.terminate_only and connection.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS:
            connection.rollback()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if moving := _moving(connection.info, clock):
            connection.exec_driver_sql(moving)


def _replace_rested(engine: Engine) -> None:
    """MySQL ends a session that rests for long, so that one is replaced before."""

    @event.listens_for(engine, "checkin")
    def _rest(connection: Any, record: Any) -> None:
        record.info[RESTS_SINCE] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _wake(connection: Any, record: Any, proxy: Any) -> None:
        rested = time.monotonic() - record.info.get(RESTS_SINCE, time.monotonic())
        if rested > IDLE_SECONDS / 2 and not _is_mariadb(connection):
            raise DisconnectionError("the session has rested for too long")


def ready_to_look(session: PoolProxiedConnection, clock: Clock) -> None:
    """Each statement commits by itself; nothing is sent for that but the first time."""
    driver: Any = session.dbapi_connection
    driver.autocommit(True)
    if moving := _moving(session.info, clock):
        driver.query(moving)


def _moving(info: dict[Any, Any], clock: Clock) -> str | None:
    """What sets a session's time, when it is not as it should be."""
    if not (clock.offset or info.get(MOVED)):
        return None
    info[MOVED] = bool(clock.offset)
    moment = f"UNIX_TIMESTAMP(SYSDATE(6)) + {clock.offset.total_seconds():.6f}" if clock.offset else "DEFAULT"
    return f"SET SESSION timestamp = {moment}"


def session_statement(mariadb: bool) -> str:
    """One round trip that sets time zone, strictness and time-outs; MySQL knows none for idle transactions alone, and
    ends idle sessions."""
    limits = (
        f"max_statement_time = {STATEMENT_SECONDS}, idle_transaction_timeout = {IDLE_SECONDS}"
        if mariadb
        else f"max_execution_time = {STATEMENT_SECONDS * 1000}, wait_timeout = {IDLE_SECONDS}"
    )
    return (
        "SET SESSION time_zone = '+00:00',"
        " sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
        f" innodb_lock_wait_timeout = {LOCK_SECONDS}, lock_wait_timeout = {METADATA_LOCK_SECONDS}, {limits}"
    )


def be_patient(connection: Connection) -> None:
    """Take a session out of the pool and let its statements run as long as they need: migrations rebuild tables, and
    another session holds their lock meanwhile."""
    connection.detach()
    session: Any = connection.connection.dbapi_connection
    limits = (
        "max_statement_time = 0, idle_transaction_timeout = 0"
        if _is_mariadb(session)
        else f"max_execution_time = 0, wait_timeout = {PATIENT_IDLE_SECONDS}"
    )
    with session.cursor() as cursor:
        cursor.execute(f"SET SESSION {limits}, lock_wait_timeout = {PATIENT_LOCK_SECONDS}")
    session._read_timeout = None


def _is_mariadb(session: Any) -> bool:
    return "mariadb" in session.get_server_info().lower()
