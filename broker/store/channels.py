"""Channels and who uses them as a dead channel."""

import json
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from broker.domain.pages import Cursor, Page
from broker.domain.registry import Channel
from broker.store.paging import Order, fetch_page
from broker.store.tables import channel as t
from broker.store.tables import consumer
from broker.store.types import AnyRow, now

_dead = t.alias("dead")
_COLUMNS = (
    t.c.id,
    t.c.channelId,
    t.c.name,
    t.c.tokenHash,
    _dead.c.channelId.label("deadChannel"),
    t.c.settings,
    t.c.paused,
    t.c.changedAt,
    t.c.revision,
)


def find(connection: Connection, channel_id: str) -> Channel | None:
    """The channel of this id. Index: channel_public."""
    query = select(*_COLUMNS).outerjoin(_dead, _dead.c.id == t.c.deadChannelId).where(t.c.channelId == channel_id)
    row = connection.execute(query).first()
    return None if row is None else _channel(row)


def lock(connection: Connection, *channel_ids: str) -> dict[str, int]:
    """Lock channels by their keys, lowest first, so that two callers never wait for each other in a circle."""
    found = connection.execute(select(t.c.id).where(t.c.channelId.in_(channel_ids))).scalars().all()
    query = select(t.c.channelId, t.c.id).where(t.c.channelId.is_not(None)).with_for_update()
    rows = [connection.execute(query.where(t.c.id == key)).first() for key in sorted(found)]
    return {row.channelId: row.id for row in rows if row is not None}


def create(connection: Connection, channel_id: str, values: dict[str, Any]) -> int:
    """A new channel; gives its key. Raises Duplicate when the id is taken."""
    statement = insert(t).values(channelId=channel_id, createdAt=now(), changedAt=now(), revision=1, **values)
    return int(connection.execute(statement).lastrowid)


def change(connection: Connection, key: int, values: dict[str, Any]) -> None:
    """Write the given columns. Primary key."""
    connection.execute(update(t).where(t.c.id == key).values(**values, changedAt=now(), revision=t.c.revision + 1))


def bury(connection: Connection, key: int) -> None:
    """Take the public id away; the sweeper removes the rest."""
    connection.execute(update(t).where(t.c.id == key).values(channelId=None, deadChannelId=None, deletedAt=now()))


def page(connection: Connection, cursor: Cursor | None, limit: int) -> Page[str]:
    """Ids, newest first. Primary key."""
    query = select(t.c.id, t.c.channelId).where(t.c.channelId.is_not(None))
    return fetch_page(connection, query, Order((t.c.id,)), cursor, limit, lambda row: str(row[1]))


def has_dead_channel(connection: Connection, key: int) -> bool:
    """Whether the channel or one of its consumers sends its dead elsewhere."""
    own = select(t.c.deadChannelId).where(t.c.id == key)
    consumers = select(func.count()).where(
        consumer.c.channelId == key, consumer.c.deadChannelId.is_not(None), consumer.c.deletedAt.is_(None)
    )
    return connection.execute(own).scalar() is not None or bool(connection.execute(consumers).scalar())


def is_dead_channel(connection: Connection, key: int) -> bool:
    """Whether another channel or a consumer sends its dead here. Indexes: *_by_dead_channel."""
    channels = select(func.count()).where(t.c.deadChannelId == key)
    consumers = select(func.count()).where(consumer.c.deadChannelId == key, consumer.c.deletedAt.is_(None))
    return bool(connection.execute(channels).scalar()) or bool(connection.execute(consumers).scalar())


def _channel(row: AnyRow) -> Channel:
    return Channel(
        key=row.id,
        id=row.channelId,
        name=row.name,
        token_hash=row.tokenHash,
        dead_channel=row.deadChannel,
        overrides=json.loads(row.settings),
        paused=row.paused,
        changed_at=row.changedAt,
        revision=row.revision,
    )
