"""Dead jobs with all they carry, in the form in which they can be imported again: the oldest death first."""

from dataclasses import dataclass

from broker.domain.dead_selection import DeadFilter
from broker.domain.errors import InvalidCursor
from broker.domain.importing import MOST_EVENTS, Arrival
from broker.domain.pages import Cursor, Page
from broker.domain.registry import Consumer
from broker.domain.states import JobStatus
from broker.domain.times import show_time
from broker.operations.parts import Parts
from broker.operations.show import show_content
from broker.operations.show_jobs import show_event
from broker.store import dead_pages, jobs, messages
from broker.store.engine import Connection
from broker.store.jobs import JobEvent, StoredJobFull
from broker.store.messages import StoredMessage

Json = dict[str, object]
PAGE_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class ExportedJob:
    """A dead job, its message, and the last of its history."""

    job: StoredJobFull
    message: StoredMessage
    history: list[JobEvent]


def export_dead_jobs(
    parts: Parts, consumer: Consumer, wanted: DeadFilter, cursor: Cursor | None, limit: int
) -> Page[ExportedJob]:
    """Those that meet the conditions. A page ends early when its payloads are large, and may have a next one then."""
    if cursor is not None and cursor.backwards:
        raise InvalidCursor("An export goes forward only.")

    def work(connection: Connection) -> Page[ExportedJob]:
        found = dead_pages.page(connection, consumer.key, wanted, False, cursor, limit)
        dead = [one for one in found.rows if one.status is JobStatus.DEAD]
        kept = dead[: _fitting(connection, dead)]
        cut = len(kept) < len(dead)
        return Page(_with_contents(connection, kept), dead_pages.key_of(kept[-1]) if cut else found.next)

    return parts.database.read("export dead jobs", work)


def show_export(found: ExportedJob) -> Json:
    """A job as an import takes it: it is the source of what it becomes."""
    job, error = found.job, found.job.error
    content = show_content(found.message)
    del content["producedBy"]
    return {
        "sourceJobId": job.id,
        "state": Arrival.DEAD.value,
        "deadReason": job.dead_reason,
        "error": None if error is None else {"type": error.type, "category": error.category, "text": error.text},
        "origin": _origin(job),
        "history": [show_event(one) for one in found.history],
        **content,
    }


def _origin(job: StoredJobFull) -> Json:
    return {
        "channelId": job.channel_id,
        "consumerId": job.consumer_id,
        "messageId": job.message_id,
        "errorType": None if job.error is None else job.error.type,
        "errorText": None if job.error is None else job.error.text,
        "failedAt": None if job.dead_at is None else show_time(job.dead_at),
        "retryCount": job.retry_attempt_count,
    }


def _fitting(connection: Connection, dead: list[StoredJobFull]) -> int:
    """How many go into a page: one at least, and no more than fit into memory."""
    sizes = messages.payload_sizes(connection, [one.message_key for one in dead])
    total = 0
    for number, one in enumerate(dead):
        total += sizes[one.message_key]
        if number and total > PAGE_BYTES:
            return number
    return len(dead)


def _with_contents(connection: Connection, dead: list[StoredJobFull]) -> list[ExportedJob]:
    contents = messages.find_several(connection, [one.message_key for one in dead])
    return [ExportedJob(one, contents[one.message_key], jobs.history(connection, one.id, MOST_EVENTS)) for one in dead]
