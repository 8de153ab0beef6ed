"""One job per consumer, by the rules for expiry and hops."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker.domain.messages import Publication
from broker.domain.overrides import resolve
from broker.domain.registry import Channel, Overrides, Producer
from broker.domain.states import DeadReason
from broker.domain.times import LATEST
from broker.operations.parts import Parts
from broker.store.publishing import JobRow, MessageRow, OpenChannel


@dataclass(frozen=True, slots=True)
class Posting:
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
    )


def fan_out(parts: Parts, message: MessageRow, channel: OpenChannel) -> Iterator[JobRow]:
    """The jobs of a message: queued, or dead at once when it has made too many hops."""
    limit = parts.settings.max_hops
    reason = DeadReason.MAX_HOPS if limit and message.hop_count > limit else None
    ids = parts.ids.block(len(channel.targets))
    for key, target in zip(ids, channel.targets, strict=True):
        expiry = message.expires_at or _expiry(parts, message, target.overrides, channel.overrides)
        yield JobRow(key, message, target.key, expiry, reason)


def _expiry(parts: Parts, message: MessageRow, *layers: Overrides) -> datetime | None:
    seconds = resolve("expire_after", parts.settings.expire_after, *layers)
    if seconds is None or timedelta(seconds=seconds) > LATEST - message.deliver_at:
        return None
    return message.deliver_at + timedelta(seconds=seconds)
