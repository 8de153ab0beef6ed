"""Replay of a consumer's dead letters, in the words of those who run a pipeline."""

from typing import Any

from flask import Blueprint, Response, request

from broker.api import answers, reading
from broker.api.dead_letters import worked_on
from broker.api.opening import ADMIN
from broker.domain.errors import FieldProblem, Invalid
from broker.domain.names import check_public_id
from broker.domain.replay import parse_replay
from broker.operations import replay
from broker.operations.access import require_admin
from broker.operations.parts import Parts
from broker.operations.replay_preview import preview, show_preview


def blueprint(parts: Parts) -> Blueprint:
    """The one view."""
    views = Blueprint("replaying", __name__)

    @views.post("/admin/dlq/<consumer_id>/replay")
    def replay_dead_letters(consumer_id: str) -> Response:
        who = reading.credentials()
        require_admin(parts, who)
        check_public_id("consumerId", consumer_id)
        wish = parse_replay(_document())
        channel_id = replay.channel_of(parts, consumer_id, wish.channel)
        asked = replay.ask(parts, who, channel_id, consumer_id, wish)
        if wish.dry_run:
            return answers.as_json(show_preview(asked, preview(parts, asked)))
        operation = replay.start(parts, asked, ADMIN)
        return worked_on(parts, operation.id, "replayedCount", accepted=True)

    return views


def _document() -> dict[str, Any]:
    """The body; the channel may as well be given in the address."""
    found = reading.document(reading.REGISTRY_BODY_BYTES)
    problems = [FieldProblem(name, "is not known") for name in request.args if name != "channel"]
    given = request.args.get("channel")
    if given is not None and found.get("channel") not in (None, given):
        problems.append(FieldProblem("channel", "is another one in the body"))
    if problems:
        raise Invalid(problems)
    return found if given is None else {**found, "channel": given}
