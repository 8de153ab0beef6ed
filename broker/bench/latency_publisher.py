"""Publishes at a steady pace by the real operation, in a process of its own."""

import time
from multiprocessing import get_context
from typing import Any, NamedTuple

from broker.bench.children import child
from broker.bench.client import BenchFailed
from broker.config import Settings
from broker.domain.messages import Publication
from broker.domain.registry import Channel, Producer
from broker.operations.publishing import Publisher
from broker.store import channels, producers
from broker.store.engine import Connection
from broker.wiring import build_parts


class Pace(NamedTuple):
    """So many messages of this size, so many of them a second."""

    rate: int
    messages: int
    payload_bytes: int


def publish(settings: Settings, pace: Pace) -> dict[str, float]:
    """Publish all, in a process of its own; gives the time after each message's commit."""
    here, there = get_context("fork").Pipe(duplex=False)
    with child(_process, there, settings, pace):
        there.close()
        try:
            committed: dict[str, float] = here.recv()
        except EOFError:
            raise BenchFailed("the publishing process ended without a word") from None
    return committed


def _process(pipe: Any, settings: Settings, pace: Pace) -> None:
    parts = build_parts(settings)
    publisher = Publisher(parts)
    channel, producer = parts.database.read("bench publisher", _registered)
    publication = Publication(b"x" * pace.payload_bytes, "text/plain")
    committed = {}
    begun = time.monotonic()
    for number in range(pace.messages):
        time.sleep(max(0.0, begun + number / pace.rate - time.monotonic()))
        published = publisher.publish(channel, producer, publication)
        committed[published.message_id] = time.time()
    pipe.send(committed)


def _registered(connection: Connection) -> tuple[Channel, Producer]:
    channel, producer = channels.find(connection, "bench"), producers.find(connection, "bench")
    if channel is None or producer is None:
        raise BenchFailed("the bench's channel is gone")
    return channel, producer
