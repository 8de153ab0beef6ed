"""The states that jobs of a filled database are brought into, for tests of plans."""

from sqlalchemy import Connection, insert, select

from broker.domain.states import JobStatus
from broker.store.tables import dlq_summary, job, lease
from tests.integration.plans import BUSY_CONSUMER, CONSUMERS, NOW

# A third dead, a third delivered; of what waits, some are leased and some can expire.
STATES = (
    "UPDATE job SET earliestNextAttemptAt = NULL, status = 1004, deadReason = 'FORCED',"
    " deadAt = createdAt - INTERVAL CRC32(id) % 10000 SECOND WHERE CRC32(id) % 3 = 0",
    "UPDATE job SET statusChangedAt = deadAt WHERE status = 1004",
    "UPDATE job SET earliestNextAttemptAt = NULL, status = 1003, outcome = 'ok' WHERE CRC32(id) % 3 = 1",
    "UPDATE job SET expiresAt = createdAt WHERE CRC32(id) % 5 = 0",
    "INSERT INTO job_expiry (expiresAt, jobId) SELECT expiresAt, id FROM job WHERE expiresAt IS NOT NULL",
)


def bring_into_states(connection: Connection) -> None:
    """Jobs in every state, and a summary row for each consumer."""
    for statement in STATES:
        connection.exec_driver_sql(statement.replace("%", "%%"), ())
    names = {"consumerName": "name", "channelId": "channel", "channelName": "name", "last_checked_at": NOW}
    connection.execute(insert(dlq_summary), [{**names, "consumerId": key} for key in CONSUMERS])


def lease_some(connection: Connection) -> None:
    """As many as an engine and its clients hold: up to a thousand."""
    mine = select(job.c.id).where(job.c.status == JobStatus.QUEUED, job.c.consumerId == BUSY_CONSUMER).limit(1000)
    ids = list(connection.execute(mine).scalars())
    for number, at in enumerate(range(0, len(ids), 50)):
        token, held = f"{number:019d}0", ids[at : at + 50]
        listed = "','".join(held)
        held_now = f"status = 1002, leaseToken = '{token}', earliestNextAttemptAt = NULL"
        connection.exec_driver_sql(f"UPDATE job SET {held_now} WHERE id IN ('{listed}')")
        key = BUSY_CONSUMER if number % 2 else 0
        made = {"token": token, "consumerId": key, "owner": "o", "expiresAt": NOW, "jobIds": "".join(held)}
        connection.execute(insert(lease), [made])
