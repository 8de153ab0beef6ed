"""Producers, channels and consumers as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from broker.domain.setting_types import JsonValue
from broker.domain.states import ConsumerType
from broker.domain.times import show_time

Overrides = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Producer:
    """Who may publish."""

    key: int
    id: str
    name: str
    token_hash: str
    changed_at: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class Channel:
    """Where messages go; `dead_channel` is a public id."""

    key: int
    id: str
    name: str
    token_hash: str
    dead_channel: str | None
    overrides: Overrides
    paused: bool
    changed_at: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class Consumer:
    """Who gets the jobs of a channel."""

    key: int
    channel_key: int
    channel_id: str
    id: str
    name: str
    token_hash: str
    type: ConsumerType
    callback_url: str | None
    dead_channel: str | None
    overrides: Overrides
    paused: bool
    built_in: bool
    changed_at: datetime
    revision: int


def etag(revision: int, changed_at: datetime) -> str:
    """The strong validator of one state of a registry entry; one that is made anew has another."""
    return f'"r{revision}@{show_time(changed_at)}"'
