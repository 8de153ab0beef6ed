"""Where the dead may go: a dead channel exists, is not the channel itself, and has no dead channel of its own.

Checked in both directions, under locks on both channels, before anything is stored.
"""

from collections.abc import Mapping

from broker.domain.changes import Change
from broker.domain.errors import Invalid
from broker.domain.registry import Channel
from broker.domain.states import ConsumerType
from broker.domain.tokens import hash_token, make_token
from broker.operations.parts import Parts
from broker.store import channels, consumers
from broker.store.engine import Connection

BUILT_IN_CONSUMER = "dead-letters"


def dead_channel_column(
    connection: Connection, change: Change, locked: Mapping[str, int], owner_id: str
) -> dict[str, int | None]:
    """The column to write when a dead channel, or none, was given; `locked` has the keys of the locked channels."""
    if "deadChannel" not in change.fields:
        return {}
    dead = change.fields["deadChannel"]
    return {"deadChannelId": None if dead is None else _check_dead_channel(connection, str(dead), locked, owner_id)}


def _check_dead_channel(connection: Connection, dead_channel: str, locked: Mapping[str, int], owner_id: str) -> int:
    """The key of a channel that may take the dead of the owner, which may not exist yet."""
    if dead_channel == owner_id:
        raise Invalid.field("deadChannel", "cannot be the channel itself")
    found = channels.find(connection, dead_channel)
    if found is None or dead_channel not in locked:
        raise Invalid.field("deadChannel", f"channel {dead_channel!r} does not exist; create it first")
    if channels.has_dead_channel(connection, found.key):
        raise Invalid.field("deadChannel", f"channel {dead_channel!r} cannot have its own dead channel")
    if owner_id in locked and channels.is_dead_channel(connection, locked[owner_id]):
        raise Invalid.field("deadChannel", f"channel {owner_id!r} is itself a dead channel, so it cannot have one")
    _ensure_built_in_consumer(connection, found)
    return found.key


def _ensure_built_in_consumer(connection: Connection, dead: Channel) -> None:
    """A dead channel has a pull consumer, so that what arrives there can be worked on."""
    if consumers.find(connection, dead.id, BUILT_IN_CONSUMER) is None:
        consumers.create(
            connection,
            dead,
            BUILT_IN_CONSUMER,
            {"name": "Dead letters", "tokenHash": hash_token(make_token()), "type": ConsumerType.PULL.value,
             "settings": "{}", "paused": False, "builtIn": True},
        )  # fmt: skip


def ensure_dead_channel(parts: Parts, channel_id: str, consumer_id: str) -> None:
    """Give a consumer that moves its dead a channel for them: the broker's, or one made by the template."""
    settings = parts.settings
    name = settings.dead_channel or settings.dead_channel_template.format(
        broker_id=settings.broker_id, consumer_id=consumer_id
    )
    parts.database.write("ensure dead channel", lambda c: _give_dead_channel(c, channel_id, consumer_id, name))


def _give_dead_channel(connection: Connection, channel_id: str, consumer_id: str, name: str) -> None:
    """A consumer that was deleted meanwhile needs none."""
    if consumers.find(connection, channel_id, consumer_id) is None:
        return
    if channels.find(connection, name) is None:
        values = {"name": name, "tokenHash": hash_token(make_token()), "settings": "{}", "paused": False}
        channels.create(connection, name, values)
    locked = channels.lock(connection, channel_id, name)
    consumer = consumers.find(connection, channel_id, consumer_id)
    if consumer is None:
        return
    key = _check_dead_channel(connection, consumer.dead_channel or name, locked, channel_id)
    consumers.change(connection, consumer.key, {"deadChannelId": key})
