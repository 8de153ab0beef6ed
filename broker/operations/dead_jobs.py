"""One dead job of a consumer: requeued or deleted, and the summary with it."""

import logging
from collections.abc import Callable

from broker.domain.acts import RETRY
from broker.domain.errors import NotDead, NotFound
from broker.domain.ids import is_xid
from broker.domain.registry import Consumer
from broker.domain.states import DeadReason, JobStatus
from broker.operations.parts import Parts
from broker.store import job_acts as store
from broker.store import summary
from broker.store.engine import Connection
from broker.store.finishing import Event, insert_events
from broker.store.job_acts import Locked
from broker.store.moments import SqlTime
from broker.store.summary import Total

log = logging.getLogger(__name__)


def requeue_dead_job(parts: Parts, consumer: Consumer, job_id: str, actor: str) -> None:
    """It waits again, due now, its retries counted anew. Refused when it is not dead, or not there."""

    def work(connection: Connection, job: Locked) -> None:
        if job.status is not JobStatus.DEAD:
            raise NotDead(f"Job {job_id!r} is {job.status.name.lower()}, not dead.", jobStatus=job.status.name)
        time = SqlTime(connection)
        summary.take_back(connection, consumer.key, [job.status_changed_at], Total.REQUEUED)
        store.become(connection, time, [job.id], JobStatus.QUEUED)
        store.expect_expiry(connection, time, [job])
        insert_events(connection, time.moment, [Event(job.id, parts.ids.new(), RETRY.event, actor)])

    _with_job(parts, consumer, job_id, "requeue dead job", work)
    log.info("%s requeued job %s of %s/%s", actor, job_id, consumer.channel_id, consumer.id)


def delete_dead_job(parts: Parts, consumer: Consumer, job_id: str, actor: str, force: bool = False) -> None:
    """It is gone, with its history. One that is not dead, or has retries left, is not found, unless forced."""

    def work(connection: Connection, job: Locked) -> None:
        if job.status is not JobStatus.DEAD:
            raise NotFound(f"Consumer {consumer.id!r} has no dead job {job_id!r}: it is {job.status.name.lower()}.")
        if not (force or is_deletable(job)):
            raise NotFound(f"Job {job_id!r} was killed by hand and has retries left. Repeat with force=true.")
        summary.take_back(connection, consumer.key, [job.status_changed_at], Total.DELETED)
        store.drop(connection, [job])

    _with_job(parts, consumer, job_id, "delete dead job", work)
    log.info("%s deleted job %s of %s/%s", actor, job_id, consumer.channel_id, consumer.id)


def is_deletable(job: Locked) -> bool:
    """Whether no retry is left: policy or its own consumer ended it, or an operator when the last one was made."""
    limit = job.applied_max_retries
    return job.dead_reason != DeadReason.FORCED or (limit is not None and 0 <= limit <= job.retries_made)


def _with_job(
    parts: Parts, consumer: Consumer, job_id: str, name: str, work: Callable[[Connection, Locked], None]
) -> None:
    """Locks: the summary row, then the job."""

    def transaction(connection: Connection) -> None:
        summary.lock(connection, [consumer.key])
        held = store.lock(connection, [job_id]) if is_xid(job_id) else []
        if not held or held[0].consumer_key != consumer.key:
            raise NotFound(f"Consumer {consumer.id!r} has no job {job_id!r}.")
        work(connection, held[0])

    parts.database.write(name, transaction)
