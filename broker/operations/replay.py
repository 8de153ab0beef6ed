"""A replay of a consumer's dead letters: those that it retains, then those that were moved to its dead channel.

Each oldest first: the retained by their deaths, the moved by their publication. It runs as an operation, see bulk.
"""

from dataclasses import dataclass

from broker.domain.dead_selection import DeadAct
from broker.domain.errors import Invalid, NotFound
from broker.domain.registry import Consumer
from broker.domain.replay import Place, Replay
from broker.operations import bulk
from broker.operations.access import Credentials, open_consumer
from broker.operations.parts import Parts
from broker.store import consumers, moved_dead, targets
from broker.store.engine import Connection
from broker.store.operations import Errand, Operation, Target

NAMED_AT_MOST = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A replay whose consumers were found."""

    consumer: Consumer
    wish: Replay
    errand: Errand


def channel_of(parts: Parts, consumer_id: str, channel_id: str | None) -> str:
    """The channel that is meant: an id is a consumer's own in its channel only."""
    if channel_id is not None:
        return channel_id
    found = parts.database.read("find channels", lambda c: moved_dead.channels_with(c, consumer_id, NAMED_AT_MOST + 1))
    if not found:
        raise NotFound(f"There is no consumer {consumer_id!r}.")
    if len(found) > 1:
        named = ", ".join(found[:NAMED_AT_MOST]) + (", …" if len(found) > NAMED_AT_MOST else "")
        raise Invalid.field("channel", f"is needed: there is a consumer {consumer_id!r} in {named}")
    return found[0]


def ask(parts: Parts, who: Credentials, channel_id: str, consumer_id: str, wish: Replay) -> Asked:
    """Find who takes part, as it stands now."""
    consumer = open_consumer(parts, who, channel_id, consumer_id)

    def work(connection: Connection) -> Errand:
        target = None if wish.target is None else _target(connection, wish.target)
        own = target is not None and target.key == consumer.key
        return Errand(wish.limit, None if own else target, _waiting_at(connection, consumer))

    return Asked(consumer, wish, parts.database.read("find who takes part", work))


def start(parts: Parts, asked: Asked, actor: str) -> Operation:
    """Write it down; nothing is done yet."""
    return bulk.start(parts, asked.consumer, DeadAct.REPLAY, asked.wish.filter, actor, errand=asked.errand)


def _target(connection: Connection, place: Place) -> Target:
    found = consumers.find(connection, *place)
    if found is None:
        raise Invalid.field("target", f"channel {place.channel_id!r} has no consumer {place.consumer_id!r}")
    if found.built_in:
        raise Invalid.field(
            "target", "cannot be the consumer of a dead channel; to move the dead there is an act of its own"
        )
    return Target(found.key, *place)


def _waiting_at(connection: Connection, consumer: Consumer) -> int | None:
    """Where its moved dead wait: at the built-in consumer of its dead channel; none when it has no such channel."""
    rules = targets.read_rules(connection, [consumer.key]).get(consumer.key)
    dead = None if rules is None else rules.dead_channel_key
    found = None if dead is None else targets.built_in_consumer(connection, dead)
    return None if found is None else found[0]
