"""A job as its deliverer holds it, and whom it is for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from broker.domain.setting_types import JsonValue
from broker.domain.states import ConsumerType

SMALL_PAYLOAD = 16_384


class ClaimedJob(NamedTuple):
    """A leased job with its message. A payload larger than SMALL_PAYLOAD is None here, and fetched when it is sent.

    A dead reason means that it is parked: it dies when there is room, and is not sent.
    """

    id: str
    consumer_key: int
    retries_made: int
    dead_reason: str | None
    expired: bool
    message_key: str
    message_id: str
    payload: bytes | None
    size: int
    content_type: str
    headers: str | None
    overrides: str | None
    priority: int
    hop_count: int
    incremental_timeout: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A consumer as the engine sees it; secrets are unsealed, the newest first."""

    key: int
    channel_id: str
    consumer_id: str
    type: ConsumerType
    callback_url: str | None
    paused: bool
    overrides: Mapping[str, JsonValue] = field(default_factory=dict)
    channel_overrides: Mapping[str, JsonValue] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    token: str | None = field(default=None, repr=False)
