"""Consumers as delivery sees them: where their jobs go, and by which rules they live and die."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, or_, select, update

from broker.domain.registry import Overrides
from broker.domain.states import ConsumerType
from broker.store.moments import SqlTime
from broker.store.tables import channel, consumer
from broker.store.types import AnyRow, now

_dead = channel.alias("dead")
_TARGETS = select(
    consumer.c.id,
    channel.c.channelId,
    consumer.c.consumerId,
    consumer.c.type,
    consumer.c.callbackUrl,
    consumer.c.paused,
    channel.c.paused.label("channelPaused"),
    consumer.c.settings,
    channel.c.settings.label("channelSettings"),
    consumer.c.signingSecret,
    consumer.c.previousSigningSecret,
    consumer.c.signingSecretChangedAt,
    consumer.c.sealedToken,
).join(channel, channel.c.id == consumer.c.channelId)
_CHANGED = _TARGETS.where(
    or_(
        consumer.c.changedAt >= bindparam("since"),
        channel.c.changedAt >= bindparam("since"),
        consumer.c.deletedAt >= bindparam("since"),
    )
)
_RULES = (
    select(
        consumer.c.id,
        consumer.c.consumerId,
        channel.c.channelId,
        consumer.c.settings,
        channel.c.settings.label("channelSettings"),
        consumer.c.type,
        consumer.c.builtIn,
        consumer.c.deadChannelId,
        channel.c.deadChannelId.label("channelDeadChannelId"),
    )
    .join(channel, channel.c.id == consumer.c.channelId)
    .where(consumer.c.id.in_(bindparam("keys", expanding=True)))
)


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A consumer with its secrets as they are stored; without an id it is deleted."""

    key: int
    channel_id: str | None
    consumer_id: str | None
    type: ConsumerType
    callback_url: str | None
    paused: bool
    overrides: Overrides
    channel_overrides: Overrides
    sealed_secret: str | None
    sealed_previous: str | None
    secret_changed_at: datetime | None
    sealed_token: str | None


@dataclass(frozen=True, slots=True)
class RulesRow:
    """What decides over a consumer's failures, as it stands in this transaction."""

    key: int
    consumer_id: str | None
    channel_id: str | None
    overrides: Overrides
    channel_overrides: Overrides
    type: ConsumerType
    built_in: bool
    dead_channel_key: int | None


def read_targets(connection: Connection, since: datetime | None) -> tuple[datetime, list[TargetRow]]:
    """All consumers, or those that changed; and the time of reading."""
    moment = SqlTime(connection).moment
    rows = connection.execute(_TARGETS) if since is None else connection.execute(_CHANGED, {"since": since})
    return moment, [_target(row) for row in rows]


def read_rules(connection: Connection, keys: Iterable[int]) -> dict[int, RulesRow]:
    """The rules of these consumers. Primary key."""
    rows = connection.execute(_RULES, {"keys": sorted(set(keys))})
    return {row.id: _rules(row) for row in rows}


def built_in_consumer(connection: Connection, channel_key: int) -> tuple[int, str] | None:
    """Who takes what is moved to a dead channel: the consumer's key, and the channel's id. Index: consumer_public."""
    query = (
        select(consumer.c.id, channel.c.channelId)
        .join(channel, channel.c.id == consumer.c.channelId)
        .where(consumer.c.channelId == channel_key, consumer.c.builtIn, consumer.c.consumerId.is_not(None))
    )
    row = connection.execute(query.limit(1)).first()
    return None if row is None or row.channelId is None else (row.id, row.channelId)


def pause(connection: Connection, key: int) -> bool:
    """Hold a consumer's deliveries; False when they are held already. Primary key."""
    statement = update(consumer).where(consumer.c.id == key, consumer.c.paused.is_(False))
    return bool(
        connection.execute(statement.values(paused=True, changedAt=now(), revision=consumer.c.revision + 1)).rowcount
    )


def _target(row: AnyRow) -> TargetRow:
    return TargetRow(
        key=row.id,
        channel_id=row.channelId,
        consumer_id=row.consumerId,
        type=ConsumerType(row.type),
        callback_url=row.callbackUrl,
        paused=bool(row.paused or row.channelPaused),
        overrides=_parsed(row.settings),
        channel_overrides=_parsed(row.channelSettings),
        sealed_secret=row.signingSecret,
        sealed_previous=row.previousSigningSecret,
        secret_changed_at=row.signingSecretChangedAt,
        sealed_token=row.sealedToken,
    )


def _rules(row: AnyRow) -> RulesRow:
    return RulesRow(
        key=row.id,
        consumer_id=row.consumerId,
        channel_id=row.channelId,
        overrides=_parsed(row.settings),
        channel_overrides=_parsed(row.channelSettings),
        type=ConsumerType(row.type),
        built_in=row.builtIn,
        dead_channel_key=row.deadChannelId or row.channelDeadChannelId,
    )


def _parsed(text: str) -> dict[str, Any]:
    return {} if text == "{}" else dict(json.loads(text))
