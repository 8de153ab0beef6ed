"""Commands on the database itself: whoever can open it is trusted."""

from collections.abc import Callable, Iterator, Sequence

from broker.cli.backend import Ids, Json, Publisher, bare_etag
from broker.cli.local_dlq import LocalDeadLetters
from broker.cli.local_jobs import LocalJobs
from broker.cli.local_operations import LocalOperations
from broker.domain.errors import judged
from broker.domain.items import parse_item
from broker.domain.pages import MOST, Cursor, Page
from broker.domain.preconditions import Preconditions
from broker.domain.registry import Channel, Consumer, Producer, etag
from broker.operations import channels, consumers, messages, producers, show
from broker.operations.access import Credentials, open_channel, open_consumer, open_producer
from broker.operations.parts import Parts
from broker.operations.publishing import Outcome
from broker.operations.publishing import Publisher as PublishingOperation


class LocalBackend:
    """Calls the operations that the API calls, as the admin."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._admin = parts, _admin(parts)
        self._operation = PublishingOperation(parts)
        self.producers = LocalProducers(parts)
        self.channels = LocalChannels(parts)
        self.consumers = LocalConsumers(parts)
        self.jobs = LocalJobs(parts, self._admin)
        self.dlq = LocalDeadLetters(parts, self._admin)
        self.operations = LocalOperations(parts)

    def publish(self, channel_id: str, publisher: Publisher, items: Sequence[Json]) -> list[Outcome]:
        channel = open_channel(self._parts, self._admin, channel_id)
        producer = open_producer(self._parts, self._admin, publisher.producer_id)
        return self._operation.publish_many(channel, producer, [judged(item, parse_item) for item in items])

    def get_message(self, channel_id: str, message_id: str) -> Json:
        channel = open_channel(self._parts, self._admin, channel_id)
        return show.show_message(messages.get_message(self._parts, channel, message_id))


class LocalProducers:
    """The registry of producers."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def put(self, ids: Ids, fields: Json, only_if: Preconditions) -> Json:
        saved = producers.put_producer(self._parts, ids[0], fields, only_if)
        return _entry(show.show_producer(saved.entry, saved.made), saved.entry)

    def get(self, ids: Ids) -> Json:
        found = open_producer(self._parts, _admin(self._parts), *ids)
        return _entry(show.show_producer(found), found)

    def list_ids(self, above: Ids) -> Iterator[str]:
        return _all(lambda cursor: producers.list_producers(self._parts, cursor, MOST))

    def delete(self, ids: Ids, only_if: Preconditions, force: bool) -> None:
        producers.delete_producer(self._parts, ids[0], only_if)


class LocalChannels:
    """The registry of channels."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def put(self, ids: Ids, fields: Json, only_if: Preconditions) -> Json:
        saved = channels.put_channel(self._parts, ids[0], fields, only_if)
        return _entry(show.show_channel(saved.entry, saved.made), saved.entry)

    def get(self, ids: Ids) -> Json:
        found = open_channel(self._parts, _admin(self._parts), *ids)
        return _entry(show.show_channel(found), found)

    def list_ids(self, above: Ids) -> Iterator[str]:
        return _all(lambda cursor: channels.list_channels(self._parts, cursor, MOST))

    def delete(self, ids: Ids, only_if: Preconditions, force: bool) -> None:
        channels.delete_channel(self._parts, ids[0], only_if, force)


class LocalConsumers:
    """The registry of consumers."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def put(self, ids: Ids, fields: Json, only_if: Preconditions) -> Json:
        channel_id, consumer_id = ids
        saved = consumers.put_consumer(self._parts, channel_id, consumer_id, fields, only_if)
        return _entry(show.show_consumer(saved.entry, saved.made), saved.entry)

    def get(self, ids: Ids) -> Json:
        found = open_consumer(self._parts, _admin(self._parts), *ids)
        return _entry(show.show_consumer(found), found)

    def list_ids(self, above: Ids) -> Iterator[str]:
        channel = open_channel(self._parts, _admin(self._parts), *above)
        return _all(lambda cursor: consumers.list_consumers(self._parts, channel, cursor, MOST))

    def delete(self, ids: Ids, only_if: Preconditions, force: bool) -> None:
        channel_id, consumer_id = ids
        consumers.delete_consumer(self._parts, channel_id, consumer_id, only_if, force)


def _admin(parts: Parts) -> Credentials:
    return Credentials(bearer=parts.settings.admin_token, local=True)


def _entry(shown: Json, of: Producer | Channel | Consumer) -> Json:
    return {**shown, "etag": bare_etag(etag(of.revision, of.changed_at))}


def _all(page_after: Callable[[Cursor | None], Page[str]]) -> Iterator[str]:
    cursor: Cursor | None = None
    while True:
        page = page_after(cursor)
        yield from page.rows
        if page.next is None:
            return
        cursor = Cursor(page.next)
