"""What is written of jobs that are brought in."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from broker.domain.fingerprints import fingerprint
from broker.domain.importing import ImportedJob
from broker.operations.fanout import Posting, expires_at, message_row
from broker.operations.parts import Parts
from broker.store.importing import DeadRow, EventRow, ImportRows, OriginRow
from broker.store.publishing import JobRow


class Arriving(NamedTuple):
    """A job that was accepted, with the id it will have."""

    job_id: str
    posting: Posting
    wanted: ImportedJob


class Terms(NamedTuple):
    """What holds for all of them: when they arrive, at which age they expire, and who brings them."""

    moment: datetime
    seconds: float | None
    actor: str


def rows_of(parts: Parts, consumer_key: int, arriving: Sequence[Arriving], terms: Terms) -> ImportRows:
    """Jobs with their messages, the queued and the dead, their origins and histories."""
    jobs = [(one, _job_row(one, consumer_key, terms)) for one in arriving]
    return ImportRows(
        queued=[row for one, row in jobs if one.wanted.dead_reason is None],
        dead=list(_dead_rows(jobs)),
        origins=[_origin_row(one, row, terms) for one, row in jobs if one.wanted.source_job_id is not None],
        events=list(_event_rows(parts, arriving, terms)),
    )


def _job_row(one: Arriving, consumer_key: int, terms: Terms) -> JobRow:
    message = message_row(one.posting, terms.moment)
    return JobRow(one.job_id, message, consumer_key, expires_at(message, terms.seconds), None)


def _dead_rows(jobs: Sequence[tuple[Arriving, JobRow]]) -> Iterator[DeadRow]:
    for one, row in jobs:
        reason, failure, retries = one.wanted.dead_reason, one.wanted.failure, one.wanted.origin.retry_count
        if reason is not None and failure is not None:
            error = (failure.type, failure.category, failure.text, fingerprint(failure.type, failure.text))
            yield DeadRow(row, reason, retries, *error)
        elif reason is not None:
            yield DeadRow(row, reason, retries, None, None, None, None)


def _origin_row(one: Arriving, row: JobRow, terms: Terms) -> OriginRow:
    origin = one.wanted.origin
    return OriginRow(
        row.id, row.consumer_key, str(one.wanted.source_job_id), origin.channel_id or "", origin.consumer_id or "",
        origin.error_type, origin.error_text, origin.failed_at or terms.moment, origin.retry_count, origin.message_id,
    )  # fmt: skip


def _event_rows(parts: Parts, arriving: Sequence[Arriving], terms: Terms) -> Iterator[EventRow]:
    """What a job brings along, then that it was brought."""
    for one in arriving:
        *ids, last = parts.ids.block(len(one.wanted.history) + 1)
        for event_id, past in zip(ids, one.wanted.history, strict=True):
            yield EventRow(one.job_id, event_id, *past)
        yield EventRow(one.job_id, last, terms.moment, "imported", terms.actor, detail=_whence(one.wanted))


def _whence(wanted: ImportedJob) -> str | None:
    return None if wanted.source_job_id is None else f"it was {wanted.source_job_id}"
