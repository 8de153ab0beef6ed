"""Where deliveries are measured: a scratch database with consumers whose target is the bench's own sink."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_network

from broker.bench import sink
from broker.bench.client import BenchFailed
from broker.bench.deliver_fill import Filler, Keys
from broker.bench.scratch import Scratch, scratch
from broker.config import Settings
from broker.domain.preconditions import Preconditions
from broker.operations.channels import put_channel
from broker.operations.consumers import put_consumer
from broker.operations.parts import Parts
from broker.operations.producers import put_producer
from broker.runtime.ports import free_port
from broker.store import channels, consumers, producers, schema
from broker.store.engine import Connection
from broker.wiring import build_parts

ANYTHING = Preconditions()
LOOPBACK = (ip_network("127.0.0.0/8"),)


@dataclass(frozen=True, slots=True)
class Target:
    """How the sink behaves."""

    delay_ms: float = 0
    answer: int = 200
    header: bytes = sink.JOB_ID


@dataclass(frozen=True, slots=True)
class Ground:
    """All that a delivery bench works on."""

    place: Scratch
    settings: Settings
    keys: Keys
    filler: Filler
    sink: sink.Sink
    url: str


@contextmanager
def prepared(settings: Settings, count: int, payload_bytes: int, target: Target) -> Iterator[Ground]:
    """A scratch database with so many consumers, and the sink they are delivered to."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/bench"
    with (
        scratch(settings.database_url) as place,
        sink.serving(port, target.delay_ms, target.answer, target.header) as it,
    ):
        own = replace(settings, database_url=place.url, delivery_allowed_networks=LOOPBACK)
        keys = _register(own, url, count)
        filler = Filler(place, keys, payload_bytes)
        try:
            yield Ground(place, own, keys, filler, it, url)
        finally:
            filler.close()


def _register(settings: Settings, url: str, count: int) -> Keys:
    """No connection stays open behind this: SQLite's must not be carried into a fork."""
    parts = build_parts(settings)
    try:
        schema.upgrade(parts.database)
        return _put(parts, url, count)
    finally:
        parts.database.dispose()


def _put(parts: Parts, url: str, count: int) -> Keys:
    put_channel(parts, "bench", {"token": "channel"}, ANYTHING)
    put_producer(parts, "bench", {"token": "producer"}, ANYTHING)
    for number in range(count):
        put_consumer(parts, "bench", f"consumer-{number}", {"callbackUrl": url}, ANYTHING)
    put_channel(parts, "backlog", {"token": "channel"}, ANYTHING)
    put_consumer(parts, "backlog", "paused", {"callbackUrl": url, "paused": True}, ANYTHING)
    return parts.database.read("bench keys", _keys)


def _keys(connection: Connection) -> Keys:
    channel, producer = channels.find(connection, "bench"), producers.find(connection, "bench")
    paused = consumers.find(connection, "backlog", "paused")
    if channel is None or producer is None or paused is None:
        raise BenchFailed("the bench's channel is gone")
    targets = consumers.keys_of(connection, channel.key)
    return Keys(channel.key, producer.key, targets, paused.channel_key, paused.key)
