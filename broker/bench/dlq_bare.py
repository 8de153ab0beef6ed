"""The bare limit of purging and requeueing: the same rows by the same index, a chunk a transaction, nothing around it.

Where a chunk ends is known beforehand; nobody locks, looks, counts or writes down how far it is.
"""

from collections.abc import Iterator

from broker.bench.dlq_lots import BURST, Lot, Lots
from broker.store.bulk import time_text

_REQUEUED = (
    "status = 1001, statusChangedAt = {now}, leaseToken = NULL, earliestNextAttemptAt = {now}, retryAttemptCount = 0,"
    " replayCount = replayCount + 1, deadAt = NULL, deadReason = NULL, outcome = NULL"
)


def purge(lots: Lots, lot: Lot, chunk: int) -> None:
    """Delete all of a lot with its history."""
    for where in _chunks(lot, chunk):
        if lots.place.is_sqlite:
            lots.run(f"DELETE FROM job_event WHERE jobId IN (SELECT id FROM {lots.by_death} WHERE {where})")
            lots.run(f"DELETE FROM {lots.by_death} WHERE {where}")
        else:
            joined = "STRAIGHT_JOIN job_event ON job_event.jobId = job.id"
            lots.run(f"DELETE job_event FROM {lots.by_death} {joined} WHERE {where}")
            lots.run(f"DELETE job FROM {lots.by_death} WHERE {where}")
        lots.connection.commit()


def requeue(lots: Lots, lot: Lot, chunk: int) -> None:
    """Let all of a lot wait again, with the line of history that each gets."""
    now = f"'{time_text(lots.now())}'" if lots.place.is_sqlite else "UTC_TIMESTAMP(6)"
    told = f"'bench', {now}, 'requeued', 'bench', 'with all that were selected'"
    for where in _chunks(lot, chunk):
        lots.run(
            "INSERT INTO job_event (jobId, id, happenedAt, event, actor, detail)"
            f" SELECT id, {told} FROM {lots.by_death} WHERE {where}"
        )
        lots.run(f"UPDATE {lots.by_death} SET {_REQUEUED.format(now=now)} WHERE {where}")
        lots.connection.commit()


def _chunks(lot: Lot, chunk: int) -> Iterator[str]:
    """Ranges of job_dead; the lot must be of one consumer."""
    rows = max(1, chunk // BURST) * BURST
    for start in range(0, lot.count, rows):
        low, high = lot.died_at(start), lot.died_at(min(start + rows, lot.count + BURST - 1))
        yield (f"consumerId = {lot.consumers[0]} AND deadAt >= '{time_text(low)}' AND deadAt < '{time_text(high)}'")
