"""Pull delivery over HTTP."""

from flask import Blueprint, Response, request

from broker.api import answers, reading
from broker.api.opening import opened
from broker.domain import pull_parsing as parse
from broker.domain.errors import Invalid
from broker.domain.ids import is_xid
from broker.domain.registry import Consumer
from broker.operations import leasing, pulling, show_pull
from broker.operations.parts import Parts
from broker.operations.steps import take_step

BODY_BYTES = 3_000_000
QUEUED_LIMIT, MOST_QUEUED = 25, 100
_CONSUMER = "/channel/<channel_id>/consumer/<consumer_id>"


def blueprint(parts: Parts) -> Blueprint:
    """All views for pull clients."""
    views = Blueprint("pulling", __name__)
    _leases(views, parts)
    _answers(views, parts)
    return views


def _leases(views: Blueprint, parts: Parts) -> None:
    @views.get(f"{_CONSUMER}/queued-jobs")
    def queued_jobs(channel_id: str, consumer_id: str) -> Response:
        consumer = _open(parts, channel_id, consumer_id)
        return answers.as_json(show_pull.show_queued(leasing.list_queued(parts, consumer, _limit())))

    @views.post(f"{_CONSUMER}/lease")
    def lease(channel_id: str, consumer_id: str) -> Response:
        consumer = _open(parts, channel_id, consumer_id)
        wish = parse.parse_lease(reading.document(BODY_BYTES))
        return answers.as_json(show_pull.show_leased(leasing.lease(parts, consumer, wish)))

    @views.post(f"{_CONSUMER}/extend")
    def extend(channel_id: str, consumer_id: str) -> Response:
        consumer = _open(parts, channel_id, consumer_id)
        jobs, seconds = parse.parse_extension(reading.document(BODY_BYTES))
        return answers.as_json(show_pull.show_results(pulling.extend(parts, consumer, jobs, seconds)))


def _answers(views: Blueprint, parts: Parts) -> None:
    @views.post(f"{_CONSUMER}/complete")
    def complete(channel_id: str, consumer_id: str) -> Response:
        consumer = _open(parts, channel_id, consumer_id)
        jobs = parse.parse_completed(reading.document(BODY_BYTES))
        return answers.as_json(show_pull.show_results(pulling.answer(parts, consumer, jobs)))

    @views.post(f"{_CONSUMER}/retry")
    def retry(channel_id: str, consumer_id: str) -> Response:
        consumer = _open(parts, channel_id, consumer_id)
        jobs = parse.parse_retried(reading.document(BODY_BYTES))
        return answers.as_json(show_pull.show_results(pulling.answer(parts, consumer, jobs)))

    @views.post(f"{_CONSUMER}/job/<job_id>")
    def step(channel_id: str, consumer_id: str, job_id: str) -> Response:
        consumer = _open(parts, channel_id, consumer_id)
        wanted = parse.parse_step(reading.document(BODY_BYTES))
        take_step(parts, consumer, _job_id(job_id), wanted)
        return answers.empty(202)


def _open(parts: Parts, channel_id: str, consumer_id: str) -> Consumer:
    return pulling.require_pull(opened(parts, channel_id, consumer_id))


def _job_id(text: str) -> str:
    if not is_xid(text):
        raise Invalid.field("jobId", "must be an id of 20 characters that the broker made")
    return text


def _limit() -> int:
    text = request.args.get("limit") or str(QUEUED_LIMIT)
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MOST_QUEUED):
        raise Invalid.field("limit", f"must be a whole number from 1 to {MOST_QUEUED}")
    return int(text)
