"""Jobs brought in from elsewhere, over HTTP."""

from flask import Blueprint, Response

from broker.api import answers
from broker.api.batches import read_items, show_refusal
from broker.api.opening import actor, opened
from broker.domain.import_parsing import parse_import
from broker.operations.importing import Imported, ImportOutcome, import_jobs
from broker.operations.parts import Parts


def blueprint(parts: Parts) -> Blueprint:
    """The view that takes jobs in."""
    views = Blueprint("importing", __name__)

    @views.post("/channel/<channel_id>/consumer/<consumer_id>/import")
    def import_jobs_of_consumer(channel_id: str, consumer_id: str) -> Response:
        consumer = opened(parts, channel_id, consumer_id)
        jobs = read_items("jobs", parts.settings.max_payload_bytes, parse_import)
        return answers.as_json(_show_outcomes(import_jobs(parts, consumer, jobs, actor(parts))))

    return views


def _show_outcomes(outcomes: list[ImportOutcome]) -> dict[str, object]:
    results = [_show_outcome(outcome) for outcome in outcomes]
    created, ignored = (sum(result["status"] == status for result in results) for status in (201, 200))
    return {"results": results, "created": created, "ignored": ignored, "rejected": len(results) - created - ignored}


def _show_outcome(outcome: ImportOutcome) -> dict[str, object]:
    if isinstance(outcome, Imported):
        status = 201 if outcome.created else 200
        return {"status": status, "jobId": outcome.job_id, "location": outcome.location}
    return show_refusal(outcome)
