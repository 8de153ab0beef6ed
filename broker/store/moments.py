"""The database's clock and lists of ids, spelled for statements that are written by hand."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from broker.store.bulk import time_text

XID_LENGTH = 20
_NOW = {True: "SELECT broker_now()", False: "SELECT NOW(6)"}


class SqlTime:
    """`now` and times after it, as SQL; on SQLite one moment for the whole transaction, which is the only writer."""

    __slots__ = ("_connection", "_moment", "_sqlite", "now")

    def __init__(self, connection: Connection) -> None:
        self._connection, self._sqlite = connection, connection.dialect.name == "sqlite"
        self._moment: datetime | None = None
        self.now = f"'{time_text(self.moment)}'" if self._sqlite else "NOW(6)"

    @property
    def moment(self) -> datetime:
        """The time as a value; asked of the database once."""
        if self._moment is None:
            self._moment = as_time(self._connection.exec_driver_sql(_NOW[self._sqlite]).scalar_one())
        return self._moment

    def moment_after(self, seconds: float) -> datetime:
        """A later time as a value."""
        return self.moment + timedelta(seconds=seconds)

    def after(self, seconds: float) -> str:
        """So many seconds from now, as SQL."""
        if self._sqlite:
            return f"'{time_text(self.moment_after(seconds))}'"
        return f"NOW(6) + INTERVAL {round(seconds * 1e6)} MICROSECOND"


def quoted(ids: Iterable[str]) -> str:
    """Ids that the broker made, as a list of literals."""
    listed = "','".join(ids)
    if not listed.replace("','", "").isalnum():
        raise ValueError("not ids of this broker")
    return f"'{listed}'"


def joined(ids: Iterable[str]) -> str:
    """Ids as one text."""
    return "".join(ids)


def split(text: str) -> list[str]:
    """The ids that were joined."""
    return [text[at : at + XID_LENGTH] for at in range(0, len(text), XID_LENGTH)]


def run(connection: Connection, statement: str) -> int:
    """A statement without parameters; gives how many rows it found."""
    return connection.exec_driver_sql(statement, execution_options={"no_parameters": True}).rowcount


def by_key(connection: Connection, table: str = "job") -> str:
    """A table that may be read by its primary key only: given few rows, MySQL would rather scan and wait."""
    return table if connection.dialect.name == "sqlite" else f"{table} FORCE INDEX (PRIMARY)"


def as_time(value: datetime | str) -> datetime:
    """A time as a driver gives it, naive or as text."""
    return (datetime.fromisoformat(value) if isinstance(value, str) else value).replace(tzinfo=UTC)
