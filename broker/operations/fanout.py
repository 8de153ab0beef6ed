"""One job per consumer, by the rules for expiry and hops."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from broker.domain.dead_letters import DeadRules, Fate, fate_of
from broker.domain.messages import Publication
from broker.domain.overrides import resolve
from broker.domain.registry import Channel, Producer
from broker.domain.states import DeadReason
from broker.domain.times import LATEST
from broker.operations.parts import Parts
from broker.operations.rules import dead_rules
from broker.store.publishing import JobRow, MessageRow, OpenChannel, Target


class Posting(NamedTuple):
    """A publication that was accepted for a channel, with the id it will have."""

    key: str
    channel: Channel
    producer: Producer
    publication: Publication
    message_id: str

    @property
    def place(self) -> tuple[int, str]:
        """What must be unique."""
        return self.channel.key, self.message_id


def message_row(posting: Posting, moment: datetime) -> MessageRow:
    """The message as it is stored, received at this moment."""
    wanted = posting.publication
    return MessageRow(
        id=posting.key,
        channel_key=posting.channel.key,
        producer_key=posting.producer.key,
        message_id=posting.message_id,
        payload=wanted.payload,
        content_type=wanted.content_type,
        headers=wanted.headers,
        metadata=wanted.metadata,
        priority=wanted.priority,
        received_at=moment,
        deliver_at=wanted.scheduled_for or moment,
        expires_at=wanted.expires_at,
        hop_count=wanted.hop_count,
        scheduled=wanted.scheduled_for is not None,
        overrides=wanted.overrides,
    )


def fan_out(parts: Parts, messages: Sequence[MessageRow], opened: Mapping[int, OpenChannel]) -> list[JobRow]:
    """The jobs of all messages: queued, or dead when a message has made too many hops."""
    targets = {key: _targets(parts, channel) for key, channel in opened.items()}
    ids = iter(parts.ids.block(sum(len(targets[message.channel_key]) for message in messages)))
    return [
        JobRow(next(ids), message, key, expires_at(message, seconds), _reason(parts, message), stays)
        for message in messages
        for key, seconds, stays in targets[message.channel_key]
    ]


def expiry_seconds(parts: Parts, target: Target, channel: OpenChannel) -> float | None:
    """The age at which a consumer's jobs expire: its own, the channel's or the broker's."""
    found: float | None = resolve("expire_after", parts.settings.expire_after, target.overrides, channel.overrides)
    return found


def expires_at(message: MessageRow, seconds: float | None) -> datetime | None:
    """When a job of the message expires: as the message says, or at an age."""
    return message.expires_at or _expiry(message, seconds)


def _targets(parts: Parts, channel: OpenChannel) -> list[tuple[int, float | None, bool]]:
    """Each consumer with the age at which its jobs expire, and whether jobs that are dead from the start just stay
    there. Others are parked, and the engine settles where they go."""
    return [
        (
            target.key,
            expiry_seconds(parts, target, channel),
            _just_stays(dead_rules(parts.settings, target.overrides, channel.overrides)),
        )
        for target in channel.targets
    ]


def _just_stays(rules: DeadRules) -> bool:
    return not rules.counts_room and fate_of(rules, DeadReason.MAX_HOPS, None) is Fate.RETAIN


def _expiry(message: MessageRow, seconds: float | None) -> datetime | None:
    if seconds is None or timedelta(seconds=seconds) > LATEST - message.deliver_at:
        return None
    return message.deliver_at + timedelta(seconds=seconds)


def _reason(parts: Parts, message: MessageRow) -> DeadReason | None:
    limit = parts.settings.max_hops
    return DeadReason.MAX_HOPS if limit and message.hop_count > limit else None
