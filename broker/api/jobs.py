"""Looking at jobs, and acting on them by hand."""

from flask import Blueprint, Response, request

from broker.api import answers, reading
from broker.api.opening import ADMIN, opened
from broker.domain.acts import ACTS, check_prefix, parse_act
from broker.domain.errors import NotFound
from broker.operations import job_acts, jobs, show_jobs
from broker.operations.access import require_admin
from broker.operations.parts import Parts


def blueprint(parts: Parts) -> Blueprint:
    """All views of jobs."""
    views = Blueprint("jobs", __name__)
    _of_a_consumer(views, parts)
    _of_the_admin(views, parts)
    return views


def _of_a_consumer(views: Blueprint, parts: Parts) -> None:
    @views.get("/channel/<channel_id>/consumer/<consumer_id>/job/<job_id>")
    def get_job(channel_id: str, consumer_id: str, job_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        return answers.as_json(show_jobs.show_job_full(jobs.get_job(parts, consumer, job_id)))

    @views.get("/channel/<channel_id>/consumer/<consumer_id>/jobs")
    def list_jobs(channel_id: str, consumer_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        wanted = jobs.parse_filter(request.args.get("state"))
        found = jobs.list_jobs(parts, consumer, wanted, *reading.page(jobs.PAGE_KEY))
        return answers.page(found, show_jobs.show_listed_job)


def _of_the_admin(views: Blueprint, parts: Parts) -> None:
    @views.get("/admin/job/<job_id>")
    def get_any_job(job_id: str) -> Response:
        require_admin(parts, reading.credentials())
        return answers.as_json(show_jobs.show_job_full(jobs.get_any_job(parts, check_prefix("jobId", job_id))))

    @views.post("/admin/jobs/<act_id>")
    def act_on_jobs(act_id: str) -> Response:
        require_admin(parts, reading.credentials())
        if act_id not in ACTS:
            raise NotFound(f"There is no act {act_id!r}, only {', '.join(ACTS)}.")
        wanted = parse_act(ACTS[act_id], reading.fields(()), ADMIN)
        return answers.as_json(show_jobs.show_outcomes(job_acts.act_on_jobs(parts, wanted)))
