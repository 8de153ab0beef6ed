"""Removes what deleted channels and consumers left behind, a bounded chunk at a time.

Any instance may do it, again and again: each chunk is one transaction, and a crash leaves only work for the next sweep.
"""

from sqlalchemy import Connection, delete, select

from broker.store.engine import Database
from broker.store.expiring import Entry, forget
from broker.store.removing import remove
from broker.store.tables import (
    channel,
    consumer,
    dlq_history,
    job,
    job_event,
    job_origin,
    lease,
    message,
    scheduled_message,
)

CHUNK = 1000


def sweep(database: Database) -> int:
    """Remove every deleted consumer and channel with all that hangs on it; gives how many jobs and messages."""
    removed = 0
    while chunk := database.write("sweep consumers", _sweep_consumer):
        removed += chunk - 1
    while chunk := database.write("sweep channels", _sweep_channel):
        removed += chunk - 1
    return removed


def _sweep_consumer(connection: Connection) -> int:
    """One chunk of one consumer: 0 for none, else 1 plus what was removed. Indexes: consumer_deleted, job_dead."""
    key = connection.execute(select(consumer.c.id).where(consumer.c.deletedAt.is_not(None)).limit(1)).scalar()
    if key is None:
        return 0
    jobs = connection.execute(select(job.c.id, job.c.expiresAt).where(job.c.consumerId == key).limit(CHUNK)).all()
    forget(connection, [Entry(row.expiresAt, row.id) for row in jobs if row.expiresAt is not None])
    for table, column in ((job_event, "jobId"), (job_origin, "jobId"), (job, "id")):
        remove(connection, table, column, sorted(row.id for row in jobs))
    if not jobs:
        for table in (lease, dlq_history):
            connection.execute(delete(table).where(table.c.consumerId == key))
        connection.execute(delete(consumer).where(consumer.c.id == key))
    return 1 + len(jobs)


def _sweep_channel(connection: Connection) -> int:
    """One chunk of one channel whose consumers are gone. Indexes: channel_deleted, message_by_time."""
    alive = select(consumer.c.id).where(consumer.c.channelId == channel.c.id).exists()
    key = connection.execute(select(channel.c.id).where(channel.c.deletedAt.is_not(None), ~alive).limit(1)).scalar()
    if key is None:
        return 0
    messages = connection.execute(select(message.c.id).where(message.c.channelId == key).limit(CHUNK)).scalars().all()
    for table in (scheduled_message, message):
        remove(connection, table, "id", sorted(messages))
    if not messages:
        connection.execute(delete(channel).where(channel.c.id == key))
    return 1 + len(messages)
