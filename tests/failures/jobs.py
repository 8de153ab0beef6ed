"""What engines that were disturbed must leave behind."""

from collections import Counter
from collections.abc import Iterable

from broker.domain.states import JobStatus
from tests.support.brokers import Broker
from tests.support.calls import put, send_batch
from tests.support.rows import rows
from tests.support.target import Received, Target
from tests.support.walk import register

BATCH = 500


def push_consumer(broker: Broker, target: Target, **settings: object) -> None:
    """A channel with one consumer whose jobs are pushed to the target."""
    register(broker.client, consumers=())
    put(broker.client, "/channel/channel/consumer/consumer", callbackUrl=target.url(), **settings)


def publish_many(broker: Broker, count: int, first: int = 0) -> list[str]:
    """So many messages through the API; gives their ids."""
    ids = [f"message-{number}" for number in range(first, first + count)]
    for at in range(0, count, BATCH):
        items = [{"messageId": one, "payload": one} for one in ids[at : at + BATCH]]
        assert send_batch(broker.client, *items)["created"] == len(items)
    return ids


def statuses(broker: Broker) -> Counter[str]:
    """How many jobs are in each status."""
    found = rows(broker, "SELECT status, COUNT(*) AS count FROM job GROUP BY status")
    return Counter({JobStatus(row["status"]).name: row["count"] for row in found})


def attempts(received: Iterable[Received]) -> dict[str, list[Received]]:
    """The deliveries of each message, in the order of their arrival."""
    found: dict[str, list[Received]] = {}
    for one in received:
        found.setdefault(one.headers["x-broker-message-id"], []).append(one)
    return found
