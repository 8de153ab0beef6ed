"""Jobs in states that need an engine or a pull client: written as rows, here and nowhere else.

What operators can do themselves (a job fails by hand) tests do through the API.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.engine import RowMapping

from broker.dlq.checkpointer import Checkpointer, Result
from broker.domain.states import JobStatus
from broker.store.tables import channel, dlq_summary, job, job_expiry, job_origin, lease, message
from broker.store.types import now
from tests.support.brokers import Broker

ERROR = {
    "errorType": "HTTP_503",
    "errorCategory": "TRANSIENT",
    "errorText": "no room",
    "errorFingerprint": "f" * 32,
    "appliedPolicy": "exponential",
    "appliedMaxRetries": 3,
}


def row(broker: Broker, job_id: str) -> RowMapping:
    """A job as it is stored."""
    query = select(job).where(job.c.id == job_id)
    return broker.parts.database.read("test", lambda c: c.execute(query).mappings().one())


def die(broker: Broker, *ids: str, at: datetime | None = None) -> None:
    """They used up their retries, now or at another time."""
    moment = at or broker.clock.now()
    dead = {"status": JobStatus.DEAD, "deadAt": moment, "deadReason": "RETRIES_EXHAUSTED", "retryAttemptCount": 3}
    change(broker, ids, statusChangedAt=moment, earliestNextAttemptAt=None, leaseToken=None, **dead, **ERROR)


def wait_out_a_retry(broker: Broker, *ids: str, minutes: float = 5) -> None:
    """They failed once and are not due."""
    due = broker.clock.now() + timedelta(minutes=minutes)
    change(broker, ids, status=JobStatus.QUEUED, earliestNextAttemptAt=due, retryAttemptCount=1, **ERROR)


def finish(broker: Broker, *ids: str, status: JobStatus = JobStatus.DELIVERED) -> None:
    """They were delivered, or archived."""
    change(broker, ids, status=status, statusChangedAt=now(), earliestNextAttemptAt=None, outcome="ok")


def take(broker: Broker, *ids: str, seconds: float = 60, shared: bool = False) -> str:
    """A client, or the engine for several consumers, holds them under one lease; gives its token."""
    token, key = broker.parts.ids.new(), 0 if shared else row(broker, ids[0])["consumerId"]
    until = broker.clock.now() + timedelta(seconds=seconds)
    change(broker, ids, status=JobStatus.INFLIGHT, statusChangedAt=now(), earliestNextAttemptAt=None, leaseToken=token)
    made = insert(lease).values(token=token, consumerId=key, owner="test", expiresAt=until, jobIds="".join(ids))
    broker.parts.database.write("test", lambda c: c.execute(made))
    return token


def expire_at(broker: Broker, job_id: str, at: datetime, listed: bool = True) -> None:
    """It must not outlive a moment."""
    change(broker, (job_id,), expiresAt=at)
    if listed:
        entry = insert(job_expiry).values(expiresAt=at, jobId=job_id)
        broker.parts.database.write("test", lambda c: c.execute(entry))


def come_from(broker: Broker, job_id: str, source: str) -> None:
    """It was moved here from another channel."""
    made = insert(job_origin).values(
        jobId=job_id, consumerId=row(broker, job_id)["consumerId"], sourceJobId=source, sourceChannelId="orders",
        sourceConsumerId="billing", errorType="HTTP_500", errorText="no", failedAt=broker.clock.now(), retryCount=3,
        sourceMessageId="order-1",
    )  # fmt: skip
    broker.parts.database.write("test", lambda c: c.execute(made))


def lose_messages(broker: Broker, channel_id: str) -> None:
    """All messages of a channel are gone, as after a long time."""
    mine = select(channel.c.id).where(channel.c.channelId == channel_id).scalar_subquery()
    gone = delete(message).where(message.c.channelId == mine)
    broker.parts.database.write("test", lambda c: c.execute(gone))


def checkpoint(broker: Broker, settle: float = 0.0) -> Result:
    """A checkpoint now: of all that died up to this moment or, while others work, up to a little before."""
    settings = replace(broker.parts.settings, dlq_settle=settle)
    return Checkpointer(replace(broker.parts, settings=settings)).run(force=True)


def totals(broker: Broker) -> tuple[int, int, int, int]:
    """dead_count, and died, requeued and deleted for ever, over all consumers."""
    t = dlq_summary.c
    query = select(*(func.sum(column) for column in (t.dead_count, t.died_total, t.requeued_total, t.deleted_total)))
    found = broker.parts.database.read("test", lambda c: c.execute(query).one())
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])


def checked_at(broker: Broker) -> datetime:
    """When the only consumer's dead were last counted."""
    query = select(dlq_summary.c.last_checked_at)
    found: datetime = broker.parts.database.read("test", lambda c: c.execute(query).scalar_one())
    return found


def dead_by_hand(broker: Broker) -> int:
    """The dead, counted one by one."""
    query = select(func.count()).where(job.c.status == JobStatus.DEAD)
    return broker.parts.database.read("test", lambda c: int(c.execute(query).scalar_one()))


def change(broker: Broker, ids: Sequence[str], **values: Any) -> None:
    """Anything else that is stored with them."""
    changed = update(job).where(job.c.id.in_(ids)).values(**values)
    broker.parts.database.write("test", lambda c: c.execute(changed))
