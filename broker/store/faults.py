"""What a database error means for the work that met it."""

from enum import Enum, auto

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout


class Again(Exception):
    """The work itself found that it must be rolled back and done anew."""


class Fault(Enum):
    """How to go on."""

    CONFLICT = auto()  # rolled back, or to be: the same transaction may succeed at once
    LOST = auto()  # the connection is gone, and with it what was not committed
    DUPLICATE = auto()  # a unique key is taken
    AWAY = auto()  # the database cannot serve now
    BUG = auto()  # our own mistake


# 1205 lock wait, 1213 deadlock (also Galera's certification), 1020 record changed (MariaDB snapshot isolation)
_CONFLICTS = {1205, 1213, 1020}
# refused, shutting down, too many connections, killed, WSREP not ready, read only, disk or table full, time-outs,
# login or rights taken away, a packet larger than the server takes, a statement log (MYSQL.md 26)
_AWAY = {
    1021, 1026, 1030, 1037, 1040, 1041, 1044, 1045, 1047, 1049, 1053, 1077, 1079, 1114, 1129, 1135, 1142, 1146, 1152,
    1153, 1158, 1159, 1160, 1161, 1177, 1203, 1226, 1290, 1317, 1665, 1698, 1792, 1836, 1927, 1969, 2002, 2003, 2005,
    2006, 2013, 2014, 2055, 3024, 4031,
}  # fmt: skip
_DUPLICATE = 1062
_SQLITE_AWAY = ("disk", "unable to open", "readonly", "i/o error", "no such table", "malformed", "not a database")


def fault_of(error: DBAPIError | PoolTimeout | Again) -> Fault:
    """Classify an error of either database."""
    if not isinstance(error, DBAPIError):
        return Fault.CONFLICT if isinstance(error, Again) else Fault.AWAY
    number = _number(error)
    if number is None:
        return _sqlite_fault(error)
    if number in _CONFLICTS:
        return Fault.CONFLICT
    if error.connection_invalidated:
        return Fault.AWAY if _timed_out(error) else Fault.LOST
    if number == _DUPLICATE:
        return Fault.DUPLICATE
    return Fault.AWAY if number in _AWAY else Fault.BUG


def describe(error: DBAPIError | PoolTimeout | Again) -> str:
    """The number or name of an error, for metrics and logs; never the statement."""
    number = _number(error) if isinstance(error, DBAPIError) else None
    return str(number) if number is not None else type(getattr(error, "orig", error)).__name__


def _number(error: DBAPIError) -> int | None:
    """MySQL's error number; PyMySQL says 0 for a connection it has closed itself."""
    first = error.orig.args[0] if error.orig is not None and error.orig.args else None
    if isinstance(first, int):
        return first or 2006
    return None


def _timed_out(error: DBAPIError) -> bool:
    """The server says nothing at all: to ask again would only make the caller wait as long again."""
    return "timed out" in str(error.orig)


def _sqlite_fault(error: DBAPIError) -> Fault:
    text = str(error.orig).lower()
    if isinstance(error, IntegrityError):
        return Fault.DUPLICATE if "unique" in text else Fault.BUG
    if "locked" in text or "busy" in text:
        return Fault.CONFLICT
    return Fault.AWAY if any(part in text for part in _SQLITE_AWAY) else Fault.BUG
