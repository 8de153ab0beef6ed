"""The demo's own process: its target, and a producer that publishes a little and then rests."""

import json
import logging
import time
from collections.abc import Callable

from broker.demo.plan import A_SECOND, FIRST, MOST
from broker.demo.seeding import NotOurs, find_channel, find_producer
from broker.demo.target import serving
from broker.domain.errors import Unavailable
from broker.domain.messages import Publication
from broker.domain.registry import Channel, Producer
from broker.operations.messages import count_messages
from broker.operations.parts import Parts
from broker.operations.publishing import Published, Publisher

NAP_SECONDS = 0.1
Stopping = Callable[[], bool]
log = logging.getLogger(__name__)


def play(parts: Parts, port: int, stopping: Stopping) -> None:
    """Until told to stop. Once the demo was removed nothing more is published, whatever is made under its name."""
    with serving(port):
        while not stopping() and _produce(parts, stopping):
            _rest(1 / A_SECOND, stopping)
        if not stopping():
            log.info("the demo was removed, or has its %d messages: it publishes no more", MOST)
        while not stopping():
            time.sleep(NAP_SECONDS)


def _produce(parts: Parts, stopping: Stopping) -> bool:
    """Publish until there are enough; False when there are, or there is no demo. True: a database that was away."""
    try:
        channel, producer = find_channel(parts), find_producer(parts)
        if channel is None or producer is None:
            return False
        return _Feed(parts, channel, producer).run(stopping)
    except NotOurs:
        return False
    except Unavailable:
        return True


class _Feed:
    """Orders, numbered on from what the channel holds."""

    def __init__(self, parts: Parts, channel: Channel, producer: Producer) -> None:
        self._publisher, self._channel, self._producer = Publisher(parts), channel, producer
        counts = count_messages(parts, channel)
        self._count = counts.dispatched + counts.acknowledged

    def run(self, stopping: Stopping) -> bool:
        """A handful at first, so that there is something to see at once. False when it is over for good."""
        going = self._publish(max(1, FIRST - self._count))
        while going and self._count < MOST and not stopping():
            _rest(1 / A_SECOND, stopping)
            going = self._publish(1)
        return stopping()

    def _publish(self, many: int) -> bool:
        """False when there is no such channel any more."""
        orders = [_order(self._count + number) for number in range(1, min(many, MOST - self._count) + 1)]
        outcomes = self._publisher.publish_many(self._channel, self._producer, orders)
        published = sum(isinstance(one, Published) for one in outcomes)
        self._count += published
        return published == len(orders)


def _order(number: int) -> Publication:
    content = {"order": number, "customer": f"customer-{number % 17}", "amount": 5 + number % 95}
    return Publication(json.dumps(content).encode(), "application/json")


def _rest(seconds: float, stopping: Stopping) -> None:
    ends = time.monotonic() + seconds
    while not stopping() and time.monotonic() < ends:
        time.sleep(min(NAP_SECONDS, max(0.0, ends - time.monotonic())))
