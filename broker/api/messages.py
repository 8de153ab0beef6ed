"""Reading messages and scheduled messages."""

from datetime import datetime

from flask import Blueprint, Response, request

from broker.api import answers, reading
from broker.domain.errors import Invalid
from broker.domain.names import check_public_id
from broker.domain.registry import Channel
from broker.domain.states import MessageStatus
from broker.operations import messages, show
from broker.operations.access import open_channel
from broker.operations.parts import Parts
from broker.operations.places import message_place

_KEY = (datetime, str)
_NOT_A_PAGE = {
    "Content-Disposition": "attachment",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}


def blueprint(parts: Parts) -> Blueprint:
    """All views below a channel that show messages."""
    views = Blueprint("messages", __name__)
    _messages(views, parts)
    _scheduled(views, parts)
    return views


def _messages(views: Blueprint, parts: Parts) -> None:
    @views.get("/channel/<channel_id>/message/<message_id>")
    def get_message(channel_id: str, message_id: str) -> Response:
        channel = _open(parts, channel_id)
        raw = reading.flag("raw")
        found = messages.get_message(parts, channel, check_public_id("messageId", message_id))
        if raw:
            return Response(found.message.payload, content_type=found.message.content_type, headers=_NOT_A_PAGE)
        return answers.as_json(show.show_message(found))

    @views.get("/channel/<channel_id>/messages")
    def list_messages(channel_id: str) -> Response:
        channel, status = _open(parts, channel_id), _status()
        found = messages.list_messages(parts, channel, status, *reading.page(_KEY))
        return answers.page(found, lambda message_id: message_place(channel.id, message_id))

    @views.get("/channel/<channel_id>/messages-status")
    def messages_status(channel_id: str) -> Response:
        channel = _open(parts, channel_id)
        return answers.as_json(show.show_counts(channel, messages.count_messages(parts, channel)))


def _scheduled(views: Blueprint, parts: Parts) -> None:
    @views.get("/channel/<channel_id>/scheduled-message/<message_id>")
    def get_scheduled(channel_id: str, message_id: str) -> Response:
        channel = _open(parts, channel_id)
        found = messages.get_scheduled(parts, channel, check_public_id("messageId", message_id))
        return answers.as_json(show.show_scheduled(found))

    @views.delete("/channel/<channel_id>/scheduled-message/<message_id>")
    def delete_scheduled(channel_id: str, message_id: str) -> Response:
        channel = _open(parts, channel_id)
        messages.delete_scheduled(parts, channel, check_public_id("messageId", message_id))
        return answers.empty()

    @views.get("/channel/<channel_id>/scheduled-messages")
    def list_scheduled(channel_id: str) -> Response:
        channel = _open(parts, channel_id)
        found = messages.list_scheduled(parts, channel, *reading.page(_KEY))
        return answers.page(found, lambda message_id: message_place(channel.id, message_id, scheduled=True))


def _open(parts: Parts, channel_id: str) -> Channel:
    return open_channel(parts, reading.credentials(), check_public_id("channelId", channel_id))


def _status() -> MessageStatus | None:
    text = request.args.get("status")
    if not text:
        return None
    for status in MessageStatus:
        if text in (str(status.value), status.name):
            return status
    raise Invalid.field("status", "must be 101 (acknowledged) or 102 (dispatched)")
