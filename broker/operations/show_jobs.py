"""Jobs as JSON, the same on every face."""

from collections.abc import Sequence
from datetime import datetime

from broker.domain.states import JobStatus, state_of
from broker.domain.times import show_time
from broker.operations.job_acts import ActOutcome, ActResult
from broker.operations.jobs import JobWithHistory
from broker.operations.places import channel_place, consumer_place, message_place, producer_place
from broker.store.jobs import JobError, JobEvent, JobOrigin, StoredJobFull

Json = dict[str, object]


def show_job_full(found: JobWithHistory) -> Json:
    """A job with all there is to know, and its history."""
    return {**show_listed_job(found.job), "history": [show_event(one) for one in found.history]}


def show_listed_job(job: StoredJobFull) -> Json:
    """A job without its history."""
    return {"id": job.id, **_whose(job), **_standing(job), **_addresses(job)}


def show_outcomes(outcomes: Sequence[ActOutcome]) -> Json:
    """What an act did: to each job, and how many."""
    counts = {result: sum(one.result is result for one in outcomes) for result in ActResult}
    return {
        "results": [{"id": one.job_id, "result": one.result.value, "reason": one.reason} for one in outcomes],
        "done": counts[ActResult.DONE],
        "skipped": counts[ActResult.SKIPPED],
        "notFound": counts[ActResult.NOT_FOUND],
    }


def _whose(job: StoredJobFull) -> Json:
    return {
        "channelId": job.channel_id,
        "consumerId": job.consumer_id,
        "messageId": job.message_id,
        "producerId": job.producer_id,
        "listenerEndpoint": job.callback_url,
        "listenerName": job.consumer_name,
    }


def _standing(job: StoredJobFull) -> Json:
    inflight = job.status is JobStatus.INFLIGHT
    return {
        "status": job.status.name,
        "state": state_of(job.status, job.next_attempt_at, job.retry_attempt_count, job.read_at),
        "statusChangedAt": show_time(job.status_changed_at),
        "priority": job.priority,
        "createdAt": show_time(job.created_at),
        "nextAttemptAt": _time(job.next_attempt_at),
        "deadAt": _time(job.dead_at),
        "expiresAt": _time(job.expires_at),
        "leaseExpiresAt": _time(job.lease_expires_at) if inflight else None,
        "retryAttemptCount": job.retry_attempt_count,
        "replayCount": job.replay_count,
        "outcome": job.outcome,
        "deadReason": job.dead_reason,
        "appliedPolicy": job.applied_policy,
        "appliedMaxRetries": job.applied_max_retries,
        "error": None if job.error is None else _error(job.error),
        "sourceJobId": None if job.origin is None else job.origin.job_id,
        "origin": None if job.origin is None else _origin(job.origin),
    }


def _addresses(job: StoredJobFull) -> Json:
    place = (job.channel_id, job.consumer_id, "job", job.id)
    return {
        "jobUrl": consumer_place(*place),
        "messageUrl": message_place(job.channel_id, job.message_id),
        "channelUrl": channel_place(job.channel_id),
        "consumerUrl": consumer_place(job.channel_id, job.consumer_id),
        "producerUrl": producer_place(job.producer_id),
        "jobRequeueUrl": consumer_place(*place, "requeue-dead-job") if job.status is JobStatus.DEAD else None,
    }


def _error(error: JobError) -> Json:
    return {"type": error.type, "category": error.category, "text": error.text, "fingerprint": error.fingerprint}


def _origin(origin: JobOrigin) -> Json:
    return {
        "jobId": origin.job_id,
        "channelId": origin.channel_id or None,
        "consumerId": origin.consumer_id or None,
        "messageId": origin.message_id,
        "errorType": origin.error_type,
        "errorText": origin.error_text,
        "failedAt": show_time(origin.failed_at),
        "retryCount": origin.retry_count,
    }


def show_event(event: JobEvent) -> Json:
    """A line of a job's history."""
    return {
        "at": show_time(event.at),
        "event": event.event,
        "actor": event.actor,
        "errorType": event.error_type,
        "errorCategory": event.error_category,
        "detail": event.detail,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else show_time(moment)
