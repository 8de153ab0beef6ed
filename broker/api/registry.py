"""PUT, GET, DELETE and lists of producers, channels and consumers."""

from flask import Blueprint, Response

from broker.api import answers, reading
from broker.domain.names import check_public_id
from broker.operations import channels, consumers, producers, show
from broker.operations.access import open_channel, open_consumer, open_producer, require_admin
from broker.operations.parts import Parts
from broker.operations.places import channel_place, consumer_place, producer_place


def blueprint(parts: Parts) -> Blueprint:
    """All registry views."""
    views = Blueprint("registry", __name__)
    _producers(views, parts)
    _channels(views, parts)
    _consumers(views, parts)
    return views


def _producers(views: Blueprint, parts: Parts) -> None:
    @views.put("/producer/<producer_id>")
    def put_producer(producer_id: str) -> Response:
        require_admin(parts, reading.credentials())
        saved = producers.put_producer(parts, producer_id, reading.fields(("token", "name")), reading.preconditions())
        return answers.entry(show.show_producer(saved.entry, saved.made), saved.entry)

    @views.get("/producer/<producer_id>")
    def get_producer(producer_id: str) -> Response:
        producer = open_producer(parts, reading.credentials(), check_public_id("producerId", producer_id))
        return answers.entry(show.show_producer(producer), producer)

    @views.delete("/producer/<producer_id>")
    def delete_producer(producer_id: str) -> Response:
        require_admin(parts, reading.credentials())
        check_public_id("producerId", producer_id)
        producers.delete_producer(parts, producer_id, reading.preconditions())
        return answers.empty()

    @views.get("/producers")
    def list_producers() -> Response:
        require_admin(parts, reading.credentials())
        return answers.page(producers.list_producers(parts, *reading.page((int,))), producer_place)


def _channels(views: Blueprint, parts: Parts) -> None:
    @views.put("/channel/<channel_id>")
    def put_channel(channel_id: str) -> Response:
        require_admin(parts, reading.credentials())
        saved = channels.put_channel(parts, channel_id, reading.fields(("token", "name")), reading.preconditions())
        return answers.entry(show.show_channel(saved.entry, saved.made), saved.entry)

    @views.get("/channel/<channel_id>")
    def get_channel(channel_id: str) -> Response:
        channel = open_channel(parts, reading.credentials(), check_public_id("channelId", channel_id))
        return answers.entry(show.show_channel(channel), channel)

    @views.delete("/channel/<channel_id>")
    def delete_channel(channel_id: str) -> Response:
        require_admin(parts, reading.credentials())
        check_public_id("channelId", channel_id)
        channels.delete_channel(parts, channel_id, reading.preconditions(), reading.flag("force"))
        return answers.empty()

    @views.get("/channels")
    def list_channels() -> Response:
        require_admin(parts, reading.credentials())
        return answers.page(channels.list_channels(parts, *reading.page((int,))), channel_place)


def _consumers(views: Blueprint, parts: Parts) -> None:
    @views.put("/channel/<channel_id>/consumer/<consumer_id>")
    def put_consumer(channel_id: str, consumer_id: str) -> Response:
        require_admin(parts, reading.credentials())
        fields = reading.fields(("token", "name", "callbackUrl", "type"))
        saved = consumers.put_consumer(parts, channel_id, consumer_id, fields, reading.preconditions())
        return answers.entry(show.show_consumer(saved.entry, saved.made), saved.entry)

    @views.get("/channel/<channel_id>/consumer/<consumer_id>")
    def get_consumer(channel_id: str, consumer_id: str) -> Response:
        check_public_id("channelId", channel_id)
        consumer = open_consumer(parts, reading.credentials(), channel_id, check_public_id("consumerId", consumer_id))
        return answers.entry(show.show_consumer(consumer), consumer)

    @views.delete("/channel/<channel_id>/consumer/<consumer_id>")
    def delete_consumer(channel_id: str, consumer_id: str) -> Response:
        require_admin(parts, reading.credentials())
        check_public_id("channelId", channel_id)
        check_public_id("consumerId", consumer_id)
        consumers.delete_consumer(parts, channel_id, consumer_id, reading.preconditions(), reading.flag("force"))
        return answers.empty()

    @views.get("/channel/<channel_id>/consumers")
    def list_consumers(channel_id: str) -> Response:
        channel = open_channel(parts, reading.credentials(), check_public_id("channelId", channel_id))
        found = consumers.list_consumers(parts, channel, *reading.page((int,)))
        return answers.page(found, lambda consumer_id: consumer_place(channel.id, consumer_id))
