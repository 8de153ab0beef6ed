"""Where the dead may go: a dead channel exists, is not the channel itself, and has no dead channel of its own.

Checked in both directions, under locks on both channels, before anything is stored.
"""

from broker.domain.errors import Invalid
from broker.domain.registry import Channel
from broker.domain.states import ConsumerType
from broker.domain.tokens import hash_token, make_token
from broker.store import channels, consumers
from broker.store.engine import Connection

BUILT_IN_CONSUMER = "dead-letters"


def check_dead_channel(connection: Connection, dead_channel: str, owner_id: str, owner_key: int | None) -> int:
    """The key of a channel that may take the dead of the owner (None: a channel that is being made)."""
    if dead_channel == owner_id:
        raise Invalid.field("deadChannel", "cannot be the channel itself")
    found = channels.find(connection, dead_channel)
    if found is None:
        raise Invalid.field("deadChannel", f"channel {dead_channel!r} does not exist; create it first")
    if channels.has_dead_channel(connection, found.key):
        raise Invalid.field("deadChannel", f"channel {dead_channel!r} cannot have its own dead channel")
    if owner_key is not None and channels.is_dead_channel(connection, owner_key):
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
