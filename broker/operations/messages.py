"""Reading messages, and taking back scheduled ones."""

from dataclasses import dataclass

from broker.domain.errors import NotDeletable, NotFound
from broker.domain.pages import Cursor, Page
from broker.domain.registry import Channel
from broker.domain.states import MessageStatus
from broker.operations.parts import Parts
from broker.store import messages as store
from broker.store.engine import Connection


@dataclass(frozen=True, slots=True)
class MessageWithJobs:
    """A message and where each of its jobs stands."""

    message: store.StoredMessage
    jobs: list[store.StoredJob]


def get_message(parts: Parts, channel: Channel, message_id: str) -> MessageWithJobs:
    """One message, scheduled or not, with its jobs."""

    def work(connection: Connection) -> MessageWithJobs:
        message = _found(store.find(connection, channel.key, message_id), channel, message_id)
        return MessageWithJobs(message, store.jobs_of(connection, message.key))

    return parts.database.read("get message", work)


def list_messages(
    parts: Parts, channel: Channel, status: MessageStatus | None, cursor: Cursor | None, limit: int
) -> Page[str]:
    """Message ids, latest first."""
    return parts.database.read("list messages", lambda c: store.page(c, channel.key, status, cursor, limit))


def count_messages(parts: Parts, channel: Channel) -> store.Counts:
    """How many wait for their time and how many are dispatched."""
    return parts.database.read("count messages", lambda c: store.counts(c, channel.key))


def get_scheduled(parts: Parts, channel: Channel, message_id: str) -> store.StoredMessage:
    """One message that was scheduled, due or not."""
    message = parts.database.read("get scheduled message", lambda c: store.find(c, channel.key, message_id))
    return _scheduled(message, channel, message_id)


def list_scheduled(parts: Parts, channel: Channel, cursor: Cursor | None, limit: int) -> Page[str]:
    """Scheduled message ids, soonest first."""
    return parts.database.read("list scheduled messages", lambda c: store.scheduled_page(c, channel.key, cursor, limit))


def delete_scheduled(parts: Parts, channel: Channel, message_id: str) -> None:
    """Take it back with its jobs, as long as it is not due."""

    def work(connection: Connection) -> None:
        message = _scheduled(store.find(connection, channel.key, message_id), channel, message_id)
        if not store.delete_scheduled(connection, message.key):
            raise NotDeletable("The message is due or dead already, so it can no longer be taken back.")

    parts.database.write("delete scheduled message", work)


def _scheduled(message: store.StoredMessage | None, channel: Channel, message_id: str) -> store.StoredMessage:
    return _found(message if message is not None and message.scheduled else None, channel, message_id)


def _found(message: store.StoredMessage | None, channel: Channel, message_id: str) -> store.StoredMessage:
    if message is None:
        raise NotFound(f"Channel {channel.id!r} has no such message: {message_id!r}.")
    return message
