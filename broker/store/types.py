"""Column types that mean the same on MySQL, MariaDB and SQLite."""

from datetime import UTC, datetime
from typing import Any, TypeAlias

from sqlalchemy import Dialect, LargeBinary, Row, Select, String, Text
from sqlalchemy.dialects import mysql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import DateTime, TypeDecorator, TypeEngine

AnyRow: TypeAlias = Row[*tuple[Any, ...]]
AnySelect: TypeAlias = Select[*tuple[Any, ...]]


def ascii_code(length: int) -> TypeEngine[str]:
    """Ids and codes: one byte a character, compared byte by byte."""
    return String(length).with_variant(mysql.VARCHAR(length, charset="ascii", collation="ascii_bin"), "mysql")


class Xid(String):
    """Marks a column whose values are ids that the broker made."""


def xid() -> TypeEngine[str]:
    """An id that the broker made."""
    return Xid(20).with_variant(mysql.CHAR(20, charset="ascii", collation="ascii_bin"), "mysql")


def public_text(length: int = 255) -> TypeEngine[str]:
    """Ids and names that users choose: any Unicode, compared exactly."""
    return String(length).with_variant(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql")


def long_text() -> TypeEngine[str]:
    """JSON and error texts."""
    return Text().with_variant(mysql.MEDIUMTEXT(charset="utf8mb4", collation="utf8mb4_bin"), "mysql")


def payload_bytes() -> TypeEngine[bytes]:
    """A message's body, up to 16 MB."""
    return LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql")


class UtcDateTime(TypeDecorator[datetime]):
    """UTC with microseconds in the database, aware datetimes in Python."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """DATETIME without a precision would round into the future (MYSQL.md 19)."""
        return dialect.type_descriptor(mysql.DATETIME(fsp=6) if dialect.name == "mysql" else DateTime())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Aware in, naive UTC stored."""
        return value if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Naive UTC stored, aware out."""
        return value if value is None else value.replace(tzinfo=UTC)


class now(FunctionElement[datetime]):  # noqa: N801 - reads as the SQL function it is
    """The database's clock."""

    type = UtcDateTime()
    inherit_cache = True


@compiles(now, "mysql")
def _now_mysql(element: now, compiler: SQLCompiler, **kw: Any) -> str:
    return "NOW(6)"


@compiles(now, "sqlite")
def _now_sqlite(element: now, compiler: SQLCompiler, **kw: Any) -> str:
    return "broker_now()"
