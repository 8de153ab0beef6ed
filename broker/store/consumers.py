"""Consumers; each has its row in dlq_summary from the moment it exists."""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from broker.domain.pages import Cursor, Page
from broker.domain.registry import Channel, Consumer
from broker.domain.states import ConsumerType, JobStatus
from broker.store.claiming import SEVERAL_CONSUMERS
from broker.store.moments import SqlTime, split
from broker.store.paging import Order, fetch_page
from broker.store.tables import channel, dlq_summary, job, lease
from broker.store.tables import consumer as t
from broker.store.types import AnyRow, now

_dead = channel.alias("dead")
_QUERY = (
    select(
        t.c.id,
        t.c.channelId.label("channelKey"),
        channel.c.channelId,
        t.c.consumerId,
        t.c.name,
        t.c.tokenHash,
        t.c.type,
        t.c.callbackUrl,
        _dead.c.channelId.label("deadChannel"),
        t.c.settings,
        t.c.paused,
        t.c.builtIn,
        t.c.changedAt,
        t.c.revision,
    )
    .join(channel, channel.c.id == t.c.channelId)
    .outerjoin(_dead, _dead.c.id == t.c.deadChannelId)
)


def find(connection: Connection, channel_id: str, consumer_id: str) -> Consumer | None:
    """The consumer of this id. Indexes: channel_public, consumer_public."""
    query = _QUERY.where(channel.c.channelId == channel_id, t.c.consumerId == consumer_id)
    row = connection.execute(query).first()
    return None if row is None else _consumer(row)


def create(connection: Connection, owner: Channel, consumer_id: str, values: dict[str, Any]) -> int:
    """A new consumer and its summary row; gives its key. Raises Duplicate when the id is taken."""
    statement = insert(t).values(
        channelId=owner.key, consumerId=consumer_id, createdAt=now(), changedAt=now(), revision=1, **values
    )
    key = int(connection.execute(statement).lastrowid)
    names = {"consumerName": values["name"], "channelId": owner.id, "channelName": owner.name}
    connection.execute(insert(dlq_summary).values(consumerId=key, **names, last_checked_at=_checkpoint(connection)))
    return key


def change(connection: Connection, key: int, values: dict[str, Any]) -> None:
    """Write the given columns. Primary key."""
    connection.execute(update(t).where(t.c.id == key).values(**values, changedAt=now(), revision=t.c.revision + 1))


def has_secret(connection: Connection, key: int) -> bool:
    """Whether it can sign already. Primary key."""
    return connection.execute(select(t.c.signingSecret).where(t.c.id == key)).scalar() is not None


def secret_columns(connection: Connection, held: Consumer | None, sealed: str) -> dict[str, Any]:
    """A new signing secret; the one before it is kept, so that both can sign for a while."""
    before = None if held is None else connection.execute(select(t.c.signingSecret).where(t.c.id == held.key)).scalar()
    return {"signingSecret": sealed, "previousSigningSecret": before, "signingSecretChangedAt": now()}


def _checkpoint(connection: Connection) -> datetime:
    """The checkpoint that others stand at: of a new consumer nothing has died before it."""
    latest = connection.execute(select(func.max(dlq_summary.c.last_checked_at))).scalar()
    return latest or SqlTime(connection).moment


def bury(connection: Connection, key: int) -> None:
    """Take the public id away, so that nothing more is fanned out to it, and its dead out of the summary; the sweeper
    removes the rest."""
    connection.execute(delete(dlq_summary).where(dlq_summary.c.consumerId == key))
    connection.execute(update(t).where(t.c.id == key).values(consumerId=None, deadChannelId=None, deletedAt=now()))


def page(connection: Connection, channel_key: int, cursor: Cursor | None, limit: int) -> Page[str]:
    """Ids, newest first. Index: consumer_public."""
    query = select(t.c.id, t.c.consumerId).where(t.c.channelId == channel_key, t.c.consumerId.is_not(None))
    return fetch_page(connection, query, Order((t.c.id,)), cursor, limit, lambda row: str(row[1]))


def keys_of(connection: Connection, channel_key: int) -> list[int]:
    """All living consumers of a channel."""
    query = select(t.c.id).where(t.c.channelId == channel_key, t.c.consumerId.is_not(None))
    return list(connection.execute(query.order_by(t.c.id)).scalars())


def unfinished(connection: Connection, key: int) -> int:
    """Jobs that are queued or in flight; costs as much as there are of them. Indexes: job_due, lease_by_consumer."""
    queued = select(func.count()).where(
        job.c.consumerId == key, job.c.priority.in_(range(10)), job.c.earliestNextAttemptAt.is_not(None)
    )
    queued = queued.with_hint(job, "FORCE INDEX (job_due)", "mysql")
    leases = select(lease.c.token, lease.c.jobIds).where(lease.c.consumerId.in_((key, SEVERAL_CONSUMERS)))
    inflight = sum(_still_held(connection, key, *row) for row in connection.execute(leases).all())
    return int(connection.execute(queued).scalar_one()) + inflight


def _still_held(connection: Connection, key: int, token: str, listed: str) -> int:
    held = select(func.count()).where(
        job.c.id.in_(split(listed)),
        job.c.leaseToken == token,
        job.c.status == JobStatus.INFLIGHT,
        job.c.consumerId == key,
    )
    return int(connection.execute(held).scalar_one())


def _consumer(row: AnyRow) -> Consumer:
    return Consumer(
        key=row.id,
        channel_key=row.channelKey,
        channel_id=row.channelId,
        id=row.consumerId,
        name=row.name,
        token_hash=row.tokenHash,
        type=ConsumerType(row.type),
        callback_url=row.callbackUrl,
        dead_channel=row.deadChannel,
        overrides=json.loads(row.settings),
        paused=row.paused,
        built_in=row.builtIn,
        changed_at=row.changedAt,
        revision=row.revision,
    )
