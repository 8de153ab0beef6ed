"""A consumer's dead jobs over HTTP: listed, requeued, deleted, archived, moved."""

import time
from dataclasses import replace

from flask import Blueprint, Response, request

from broker.api import answers, reading
from broker.api.opening import actor, opened
from broker.domain.dead_selection import FILTER_FIELDS, DeadAct, DeadFilter, OperationState, parse_dead_filter
from broker.domain.errors import FieldProblem, Invalid
from broker.domain.registry import Consumer
from broker.operations import bulk, dead_jobs, dead_lists, exporting, show_jobs
from broker.operations.access import Credentials
from broker.operations.parts import Parts
from broker.operations.show_dlq import show_operation

ANSWER_SECONDS = 4.0
LOOK_SECONDS = 0.05
_CONSUMER = "/channel/<channel_id>/consumer/<consumer_id>"
_COUNTS = {DeadAct.REQUEUE: "requeuedCount", DeadAct.DELETE: "deletedCount", DeadAct.ARCHIVE: "archivedCount",
           DeadAct.MOVE: "movedCount"}  # fmt: skip


def blueprint(parts: Parts) -> Blueprint:
    """All views of a consumer's dead."""
    views = Blueprint("dead_letters", __name__)
    _one(views, parts)
    _list(views, parts)
    _all(views, parts)
    return views


def _one(views: Blueprint, parts: Parts) -> None:
    @views.post(f"{_CONSUMER}/job/<job_id>/requeue-dead-job")
    def requeue_dead_job(channel_id: str, consumer_id: str, job_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        dead_jobs.requeue_dead_job(parts, consumer, job_id, actor(parts))
        return answers.empty(202)

    @views.delete(f"{_CONSUMER}/job/<job_id>")
    def delete_dead_job(channel_id: str, consumer_id: str, job_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        dead_jobs.delete_dead_job(parts, consumer, job_id, actor(parts), reading.flag("force"))
        return answers.empty()


def _list(views: Blueprint, parts: Parts) -> None:
    @views.get(f"{_CONSUMER}/dlq")
    def list_dead_jobs(channel_id: str, consumer_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        wanted, newest_first = parse_dead_filter(request.args), dead_lists.parse_order(request.args.get("order"))
        found = dead_lists.list_dead_jobs(parts, consumer, wanted, newest_first, *reading.page(dead_lists.PAGE_KEY))
        return answers.page(found, show_jobs.show_listed_job, "deadJobs", ("limit", "order", *FILTER_FIELDS))

    @views.get(f"{_CONSUMER}/dlq/export")
    def export_dead_jobs(channel_id: str, consumer_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        wanted = parse_dead_filter(request.args)
        found = exporting.export_dead_jobs(parts, consumer, wanted, *reading.page(dead_lists.PAGE_KEY))
        return answers.page(found, exporting.show_export, "jobs", ("limit", *FILTER_FIELDS))


def _all(views: Blueprint, parts: Parts) -> None:
    @views.post(f"{_CONSUMER}/dlq")
    def requeue_dead_jobs(channel_id: str, consumer_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id, _with_form())
        return _carry_out(parts, consumer, DeadAct.REQUEUE)

    @views.delete(f"{_CONSUMER}/dlq")
    def delete_dead_jobs(channel_id: str, consumer_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        return _carry_out(parts, consumer, DeadAct.DELETE, reading.flag("force"))

    @views.post(f"{_CONSUMER}/dlq/archive")
    def archive_dead_jobs(channel_id: str, consumer_id: str) -> Response:
        return _carry_out(parts, opened(parts, channel_id, consumer_id), DeadAct.ARCHIVE)

    @views.post(f"{_CONSUMER}/dlq/move")
    def move_dead_jobs(channel_id: str, consumer_id: str) -> Response:
        return _carry_out(parts, opened(parts, channel_id, consumer_id), DeadAct.MOVE)


def _with_form() -> Credentials:
    """Older clients send the consumer's token as a field of the form; where it is given, it must be right."""
    fields, who = reading.fields(("requeue",)), reading.credentials()
    problems = [FieldProblem(name, "is not known") for name in fields if name != "requeue"]
    token = fields.get("requeue")
    if "requeue" in fields and not isinstance(token, str):
        problems.append(FieldProblem("requeue", "must be the consumer's token"))
    if problems:
        raise Invalid(problems)
    return replace(who, consumer_token=token or who.consumer_token)  # type: ignore[arg-type]


def _carry_out(parts: Parts, consumer: Consumer, act: DeadAct, force: bool = False) -> Response:
    """Done within a few seconds, or left to whichever instance goes on with it."""
    operation = bulk.start(parts, consumer, act, _selection(act), actor(parts), force)
    return worked_on(parts, operation.id, _COUNTS[act], accepted=act is DeadAct.REQUEUE)


def worked_on(parts: Parts, operation_id: str, count: str, accepted: bool) -> Response:
    """How many it has done, to its end or for a few seconds. 202 when it goes on, or where that is the only answer."""
    ends = time.monotonic() + ANSWER_SECONDS
    while True:
        operation = bulk.run(parts, operation_id, ends - time.monotonic())
        if operation.state is not OperationState.RUNNING or time.monotonic() >= ends:
            break
        time.sleep(LOOK_SECONDS)
    status = 202 if accepted or operation.state is OperationState.RUNNING else 200
    counts = {count: operation.done, "skippedCount": operation.skipped}
    return answers.as_json({**counts, "operation": show_operation(operation)}, status)


def _selection(act: DeadAct) -> DeadFilter:
    """What is not known is refused: without its misspelled condition, an act would be on all."""
    known = (*FILTER_FIELDS, *(["force"] if act is DeadAct.DELETE else []))
    problems = [FieldProblem(name, "is not known") for name in request.args if name not in known]
    if problems:
        raise Invalid(problems)
    return parse_dead_filter(request.args)
