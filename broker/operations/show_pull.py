"""What pull clients are shown."""

import json
from collections.abc import Mapping

from broker.domain.times import show_time
from broker.domain.work import ClaimedJob
from broker.operations.finishing import LATE
from broker.operations.leasing import Leased
from broker.operations.show import show_payload

Json = dict[str, object]


def show_queued(jobs: list[ClaimedJob]) -> Json:
    """A list as existing clients know it."""
    return {"result": [show_leasable(one) for one in jobs]}


def show_leased(leased: Leased) -> Json:
    """A batch with its token; null when there was nothing."""
    return {
        "leaseToken": leased.token if leased.jobs else None,
        "leaseExpiresAt": show_time(leased.expires_at) if leased.jobs and leased.expires_at else None,
        "jobs": [show_leasable(one) for one in leased.jobs],
    }


def show_results(results: Mapping[str, str]) -> Json:
    """What became of each, in the order of the request."""
    items = [_show_result(job_id, result) for job_id, result in results.items()]
    refused = sum(result == LATE for result in results.values())
    return {"results": items, "done": len(items) - refused, "refused": refused}


def show_leasable(job: ClaimedJob) -> Json:
    """A job with its message."""
    payload, encoding = show_payload(job.payload or b"")
    return {
        "id": job.id,
        "priority": job.priority,
        "attempt": job.retries_made + 1,
        "incrementalTimeout": job.incremental_timeout or 0,
        "message": {
            "messageId": job.message_id,
            "payload": payload,
            "payloadEncoding": encoding,
            "contentType": job.content_type,
            "headers": json.loads(job.headers) if job.headers else {},
            "hopCount": job.hop_count,
        },
    }


def _show_result(job_id: str, result: str) -> Json:
    if result != LATE:
        return {"id": job_id, "status": 200, "result": result}
    return {
        "id": job_id,
        "status": 409,
        "result": result,
        "detail": "The lease has ended or is not this job's: nothing was changed.",
    }
