"""Who may do what. Credentials that are missing are Unauthorized, wrong ones Forbidden, both after the same work.

A caller who is not the admin is not told whether what it cannot open exists.
"""

from dataclasses import dataclass
from typing import TypeVar

from broker.domain.errors import Forbidden, NotFound, Unauthorized
from broker.domain.registry import Channel, Consumer, Producer
from broker.domain.tokens import secrets_equal, token_matches
from broker.operations.parts import Parts
from broker.store import channels, consumers, producers

T = TypeVar("T")
_WRONG = "The credentials do not open this."


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a caller showed; `local` when it is on this machine, with nothing in between."""

    bearer: str | None = None
    channel_token: str | None = None
    producer_id: str | None = None
    producer_token: str | None = None
    consumer_token: str | None = None
    local: bool = False


def is_admin(parts: Parts, who: Credentials) -> bool:
    """Whether the admin token was shown, or none is set and the caller is on this machine."""
    expected = parts.settings.admin_token
    if expected is None:
        return who.local
    return who.bearer is not None and secrets_equal(who.bearer, expected)


def require_admin(parts: Parts, who: Credentials) -> None:
    """Management."""
    if is_admin(parts, who):
        return
    if who.bearer is not None:
        raise Forbidden(_WRONG)
    if parts.settings.admin_token is None:
        raise Unauthorized(
            "No admin token is configured, so management is open to this machine only. Set BROKER_ADMIN_TOKEN."
        )
    raise Unauthorized("Send the admin token: Authorization: Bearer <token>.")


def require_monitor(parts: Parts, who: Credentials) -> None:
    """Monitoring: open unless a token for it is configured."""
    expected = parts.settings.monitor_token
    if expected is None or is_admin(parts, who):
        return
    if who.bearer is None:
        raise Unauthorized("Send the monitor token: Authorization: Bearer <token>.")
    if not secrets_equal(who.bearer, expected):
        raise Forbidden(_WRONG)


def open_channel(parts: Parts, who: Credentials, channel_id: str) -> Channel:
    """A channel for the admin or for who has its token."""
    admin = is_admin(parts, who)
    if not admin:
        _require_shown(who, "X-Broker-Channel-Token", who.channel_token)
    channel = parts.database.read("find channel", lambda c: channels.find(c, channel_id))
    if not admin:
        _require_match((who.channel_token, channel.token_hash if channel else None))
    return _found(channel, f"There is no channel {channel_id!r}.")


def open_consumer(parts: Parts, who: Credentials, channel_id: str, consumer_id: str) -> Consumer:
    """A consumer for the admin, or for who has both its channel's token and its own."""
    admin = is_admin(parts, who)
    if not admin:
        _require_shown(who, "X-Broker-Channel-Token", who.channel_token)
        _require_shown(who, "X-Broker-Consumer-Token", who.consumer_token)
    channel, consumer = parts.database.read(
        "find consumer", lambda c: (channels.find(c, channel_id), consumers.find(c, channel_id, consumer_id))
    )
    if not admin:
        _require_match(
            (who.channel_token, channel.token_hash if channel else None),
            (who.consumer_token, consumer.token_hash if consumer else None),
        )
    _found(channel, f"There is no channel {channel_id!r}.")
    return _found(consumer, f"Channel {channel_id!r} has no consumer {consumer_id!r}.")


def open_producer(parts: Parts, who: Credentials, producer_id: str) -> Producer:
    """A producer for the admin or for itself."""
    admin = is_admin(parts, who)
    if not admin:
        _require_shown(who, "X-Broker-Producer-Token", who.producer_token)
    producer = parts.database.read("find producer", lambda c: producers.find(c, producer_id))
    if not admin:
        _require_match((who.producer_token, producer.token_hash if producer else None))
    return _found(producer, f"There is no producer {producer_id!r}.")


def open_for_publishing(parts: Parts, who: Credentials, channel_id: str) -> tuple[Channel, Producer]:
    """Publishing needs a known producer with its token, then the channel with its token."""
    for header, shown in (("X-Broker-Channel-Token", who.channel_token), ("X-Broker-Producer-ID", who.producer_id),
                          ("X-Broker-Producer-Token", who.producer_token)):  # fmt: skip
        if shown is None:
            raise Unauthorized(f"Send {header}.")
    producer, right = parts.cache.producers.get(
        str(who.producer_id), lambda p: token_matches(str(who.producer_token), p.token_hash)
    )
    if producer is None:
        token_matches(str(who.producer_token), None)
        raise Unauthorized("The producer is not known.")
    if not right:
        raise Forbidden("The producer token is wrong.")
    channel, right = parts.cache.channels.get(channel_id, lambda c: token_matches(str(who.channel_token), c.token_hash))
    if channel is None:
        raise NotFound(f"There is no channel {channel_id!r}.")
    if not right:
        raise Forbidden("The channel token is wrong.")
    return channel, producer


def _require_shown(who: Credentials, header: str, shown: str | None) -> None:
    if shown is None and who.bearer is None:
        raise Unauthorized(f"Send the admin token or {header}.")
    if shown is None:
        raise Forbidden(_WRONG)


def _require_match(*pairs: tuple[str | None, str | None]) -> None:
    """Compare every pair, so that the answer takes as long whichever is wrong."""
    results = [token_matches(shown or "", stored) for shown, stored in pairs]
    if not all(results):
        raise Forbidden(_WRONG)


def _found(thing: T | None, otherwise: str) -> T:
    if thing is None:
        raise NotFound(otherwise)
    return thing
