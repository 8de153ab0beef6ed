"""Makes what is missing of the demo, through the operations that everybody uses; safe to repeat, whenever it ended."""

from typing import TypeVar

from broker.demo.plan import CHANNEL, MARK, PRODUCER, Fields, consumers
from broker.domain.errors import NotFound
from broker.domain.preconditions import Preconditions
from broker.domain.registry import Channel, Producer
from broker.operations.access import Credentials, open_channel, open_consumer, open_producer
from broker.operations.channels import put_channel
from broker.operations.consumers import put_consumer
from broker.operations.parts import Parts
from broker.operations.producers import put_producer

T = TypeVar("T", Channel, Producer)
_NEW = Preconditions(must_be_new=True)


class NotOurs(Exception):
    """Something else has the demo's name."""


def seed(parts: Parts, port: int) -> None:
    """All of it is there afterwards, and its consumers are called on this port; refuses what the demo did not make."""
    producer, channel = find_producer(parts), find_channel(parts)
    if producer is None:
        put_producer(parts, PRODUCER, {"name": MARK}, _NEW)
    if channel is None:
        put_channel(parts, CHANNEL, {"name": MARK}, _NEW)
    for name, fields in consumers(port).items():
        _put_consumer(parts, name, fields)


def find_channel(parts: Parts) -> Channel | None:
    """The demo's channel; none when there is none of its name."""
    try:
        found = open_channel(parts, _admin(parts), CHANNEL)
    except NotFound:
        return None
    return _ours(found, "channel")


def find_producer(parts: Parts) -> Producer | None:
    """The demo's producer; none when there is none of its name."""
    try:
        found = open_producer(parts, _admin(parts), PRODUCER)
    except NotFound:
        return None
    return _ours(found, "producer")


def _ours(found: T, kind: str) -> T:
    if found.name != MARK:
        raise NotOurs(f"There is a {kind} {found.id!r} that the demo did not make. Delete it, or do without the demo.")
    return found


def _put_consumer(parts: Parts, name: str, fields: Fields) -> None:
    """One that is there keeps what was changed by hand; only the target's address is new at every start."""
    try:
        open_consumer(parts, _admin(parts), CHANNEL, name)
    except NotFound:
        put_consumer(parts, CHANNEL, name, fields, _NEW)
    else:
        if "callbackUrl" in fields:
            put_consumer(parts, CHANNEL, name, {"callbackUrl": fields["callbackUrl"]}, Preconditions())


def _admin(parts: Parts) -> Credentials:
    return Credentials(bearer=parts.settings.admin_token, local=True)
