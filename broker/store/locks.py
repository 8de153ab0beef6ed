"""Named locks with an owner and an end; who is in time, and who holds one, is the database's word."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from broker.store.moments import SqlTime
from broker.store.tables import lock as t


class Holder(NamedTuple):
    """Who holds a lock, since when, and until when unless it is renewed."""

    owner: str
    attained_at: datetime
    expires_at: datetime


def take(connection: Connection, name: str, owner: str, seconds: float) -> bool:
    """Insert the lock; False when another holds it. One that has ended is taken over. Raises Duplicate when another
    was faster. Who holds it is read first, without waiting for what its holder is doing. Primary key."""
    time = SqlTime(connection)
    held = holder(connection, name)
    if held is not None:
        return held.owner == owner
    connection.execute(delete(t).where(t.c.lockId == name, t.c.expiresAt <= time.moment))
    values = {"owner": owner, "attainedAt": time.moment, "expiresAt": time.moment_after(seconds)}
    connection.execute(insert(t).values(lockId=name, **values))
    return True


def renew(connection: Connection, name: str, owner: str, seconds: float) -> bool:
    """Put its end off; False when it is not the owner's any more, or has ended. Primary key."""
    time = SqlTime(connection)
    mine = update(t).where(t.c.lockId == name, t.c.owner == owner, t.c.expiresAt > time.moment)
    return bool(connection.execute(mine.values(expiresAt=time.moment_after(seconds))).rowcount)


def release(connection: Connection, name: str, owner: str) -> bool:
    """Let go of it; another's stays. Primary key."""
    return bool(connection.execute(delete(t).where(t.c.lockId == name, t.c.owner == owner)).rowcount)


def is_mine(connection: Connection, name: str, owner: str) -> bool:
    """Whether it is held by this owner, until the end of this transaction: nobody takes over a locked row."""
    query = select(t.c.owner, t.c.expiresAt).where(t.c.lockId == name).with_for_update()
    row = connection.execute(query).first()
    return row is not None and row.owner == owner and row.expiresAt > SqlTime(connection).moment


def holder(connection: Connection, name: str) -> Holder | None:
    """Who holds it now. Primary key."""
    row = connection.execute(select(t.c.owner, t.c.attainedAt, t.c.expiresAt).where(t.c.lockId == name)).first()
    return None if row is None or row.expiresAt <= SqlTime(connection).moment else Holder(*row)
