"""What the server at the other end really does, found out by trying."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, text

from broker.domain.ids import XidFactory
from broker.store.engine import Database
from broker.store.tables import lock
from broker.store.types import now

BINARY_LOG = "binary log"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    found: str
    good: bool
    advice: str = ""


def server_version(connection: Connection) -> str:
    """Name and version of the database."""
    if connection.dialect.name == "sqlite":
        return f"SQLite {connection.execute(text('SELECT sqlite_version()')).scalar()}"
    version = str(connection.execute(text("SELECT VERSION()")).scalar())
    return f"MariaDB {version}" if "mariadb" in version.lower() else f"MySQL {version}"


def probe(database: Database, max_payload_bytes: int) -> list[Finding]:
    """Everything that must be so for the broker to work; SQLite needs no more than its version.

    With a statement log the server refuses every write of a READ COMMITTED session, so there locking is not tried.
    """
    checks: tuple[Callable[[Connection], Finding], ...] = (_version,)
    if not database.is_sqlite:
        checks += (_isolation, _time_zone, _binary_log, lambda c: _packet(c, max_payload_bytes))
    findings = [database.read("probe", check) for check in checks]
    may_write = all(finding.good for finding in findings if finding.what == BINARY_LOG)
    return findings if database.is_sqlite or not may_write else [*findings, skips_locked(database)]


def skips_locked(database: Database) -> Finding:
    """Two sessions, two rows: the second session must get exactly the row that the first has not locked."""
    rows = [f"probe-{name}" for name in XidFactory().block(2)]
    database.write("probe", lambda c: _insert_locks(c, rows))
    try:
        seen = _second_session_sees(database, rows)
    finally:
        database.write("probe", lambda c: c.execute(delete(lock).where(lock.c.lockId.in_(rows))))
    return _skip_finding(seen == rows[1:])


def _second_session_sees(database: Database, rows: list[str]) -> list[str]:
    first = select(lock.c.lockId).where(lock.c.lockId == rows[0]).with_for_update()
    both = (
        select(lock.c.lockId).where(lock.c.lockId.in_(rows)).order_by(lock.c.lockId).with_for_update(skip_locked=True)
    )
    with database.engine.connect() as one, database.engine.connect() as two:
        one.execute(first).all()
        return list(two.execute(both).scalars())


def _skip_finding(good: bool) -> Finding:
    advice = "Two workers would get the same job on this server. Use MySQL 8.0, MariaDB 10.6 or newer."
    return Finding("skips locked rows", "yes, tried with two sessions" if good else "no", good, "" if good else advice)


def _insert_locks(connection: Connection, rows: list[str]) -> None:
    for row in rows:
        connection.execute(insert(lock).values(lockId=row, owner="probe", attainedAt=now(), expiresAt=now()))


def _version(connection: Connection) -> Finding:
    name = server_version(connection)
    product, number = name.split(" ", 1)
    least = {"MariaDB": (10, 6), "MySQL": (8, 0), "SQLite": (3, 35)}[product]
    parts = tuple(int(part) for part in number.split("-")[0].split(".")[:2])
    advice = f"Use {product} {least[0]}.{least[1]} or newer."
    return Finding("version", name, parts >= least, "" if parts >= least else advice)


def _isolation(connection: Connection) -> Finding:
    name = connection.dialect.get_isolation_level(connection.connection.dbapi_connection)  # type: ignore[arg-type]
    return Finding(
        "isolation of a session", name, name == "READ COMMITTED", "Something on the way resets the session's isolation."
    )


def _time_zone(connection: Connection) -> Finding:
    row = connection.execute(
        text("SELECT @@session.time_zone, ABS(TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()))")
    ).one()
    return Finding(
        "time zone of a session", str(row[0]), row[1] <= 1, "Something on the way resets the session's time zone."
    )


def _binary_log(connection: Connection) -> Finding:
    row = connection.execute(text("SELECT @@log_bin, @@binlog_format")).one()
    good = not row[0] or row[1] == "ROW"
    return Finding(
        BINARY_LOG, row[1] if row[0] else "off", good, "" if good else "Set binlog_format = ROW on the server."
    )


def _packet(connection: Connection, max_payload_bytes: int) -> Finding:
    """A payload travels as hexadecimal, so it needs twice its size."""
    size, needed = (
        int(connection.execute(text("SELECT @@max_allowed_packet")).scalar_one()),
        2 * max_payload_bytes + 100_000,
    )
    advice = f"Set max_allowed_packet to {needed} or more on the server, or lower max_payload_bytes."
    return Finding("max_allowed_packet", f"{size} bytes", size >= needed, "" if size >= needed else advice)
