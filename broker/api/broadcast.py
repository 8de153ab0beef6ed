"""Publishing over HTTP: one message as the body, or a batch as JSON."""

import re
from datetime import datetime

from flask import Blueprint, Response, request

from broker.api import answers, reading
from broker.api.batches import read_items, show_refusal
from broker.domain.errors import Invalid
from broker.domain.items import parse_item
from broker.domain.messages import DEFAULT_CONTENT_TYPE, Publication
from broker.domain.names import check_public_id
from broker.domain.overrides import parse_message_overrides
from broker.domain.setting_types import JsonValue
from broker.domain.times import parse_time
from broker.operations.access import open_for_publishing
from broker.operations.parts import Parts
from broker.operations.publishing import Outcome, Published, Publisher

NAMES = {
    "messageId": "X-Broker-Message-ID",
    "priority": "X-Broker-Message-Priority",
    "contentType": "Content-Type",
    "headers": "X-Broker-Metadata-Headers",
    "metadata": "X-Broker-Metadata",
    "hopCount": "X-Broker-Hop-Count",
    "expiresAt": "X-Broker-Expires-At",
}


def blueprint(parts: Parts, publisher: Publisher) -> Blueprint:
    """The two publishing views."""
    views = Blueprint("broadcast", __name__)

    @views.post("/channel/<channel_id>/broadcast")
    def broadcast(channel_id: str) -> Response:
        check_public_id("channelId", channel_id)
        channel, producer = open_for_publishing(parts, reading.credentials(), channel_id)
        published = publisher.publish(channel, producer, _publication(parts.settings.max_payload_bytes))
        return answers.empty(201, published.location)

    @views.post("/channel/<channel_id>/broadcast-batch")
    def broadcast_batch(channel_id: str) -> Response:
        check_public_id("channelId", channel_id)
        channel, producer = open_for_publishing(parts, reading.credentials(), channel_id)
        items = read_items("messages", parts.settings.max_payload_bytes, parse_item)
        return answers.as_json(_show_outcomes(publisher.publish_many(channel, producer, items)))

    return views


def _publication(most: int) -> Publication:
    publication = Publication(
        payload=reading.body(most),
        content_type=request.headers.get("Content-Type") or DEFAULT_CONTENT_TYPE,
        message_id=reading.header("X-Broker-Message-ID"),
        priority=_number("X-Broker-Message-Priority"),
        scheduled_for=_time("X-Broker-Scheduled-For"),
        expires_at=_time("X-Broker-Expires-At"),
        headers=_carried_headers(),
        metadata=_metadata(),
        hop_count=_number("X-Broker-Hop-Count"),
        overrides=_overrides(),
    )
    publication.check(NAMES)
    return publication


def _number(name: str) -> int:
    text = reading.header(name)
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Invalid.field(name, "must be a whole number")
    return int(text)


def _time(name: str) -> datetime | None:
    text = reading.header(name)
    return None if text is None else parse_time(name, text)


def _carried_headers() -> dict[str, str] | None:
    """The headers whose names the producer lists, separated by commas or blanks; one that was not sent is left out."""
    listed = reading.header("X-Broker-Metadata-Headers")
    if listed is None:
        return None
    names = {name.lower(): name for name in re.split(r"[,\s]+", listed) if name}
    return {name: value for name in names.values() if (value := reading.header(name)) is not None}


def _metadata() -> dict[str, object] | None:
    return _json_object("X-Broker-Metadata")


def _overrides() -> dict[str, JsonValue] | None:
    found = _json_object("X-Broker-Overrides")
    return None if found is None else parse_message_overrides(found, "X-Broker-Overrides")


def _json_object(name: str) -> dict[str, object] | None:
    text = reading.header(name)
    if text is None:
        return None
    try:
        found = reading.parse_json(text.encode())
    except Invalid:
        found = None
    if not isinstance(found, dict):
        raise Invalid.field(name, "must be a JSON object")
    return found


def _show_outcomes(outcomes: list[Outcome]) -> dict[str, object]:
    results = [_show_outcome(outcome) for outcome in outcomes]
    created = sum(result["status"] == 201 for result in results)
    duplicates = sum(result["status"] == 409 for result in results)
    return {
        "results": results,
        "created": created,
        "duplicates": duplicates,
        "rejected": len(results) - created - duplicates,
    }


def _show_outcome(outcome: Outcome) -> dict[str, object]:
    if isinstance(outcome, Published):
        return {"status": 201, "messageId": outcome.message_id, "location": outcome.location}
    return show_refusal(outcome)
