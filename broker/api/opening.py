"""The consumer that a request is about, and who asks."""

from broker.api import reading
from broker.domain.names import check_public_id
from broker.domain.registry import Consumer
from broker.operations.access import Credentials, is_admin, open_consumer
from broker.operations.parts import Parts

ADMIN, CONSUMER = "admin", "consumer"


def opened(parts: Parts, channel_id: str, consumer_id: str, who: Credentials | None = None) -> Consumer:
    """The consumer of this path, for who may open it."""
    check_public_id("channelId", channel_id)
    check_public_id("consumerId", consumer_id)
    return open_consumer(parts, who or reading.credentials(), channel_id, consumer_id)


def actor(parts: Parts) -> str:
    """Whom the history of a job names: the admin, or whoever has the consumer's token."""
    return ADMIN if is_admin(parts, reading.credentials()) else CONSUMER
