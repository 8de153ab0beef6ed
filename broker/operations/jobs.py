"""Looking at jobs: one with its history, or a consumer's by state."""

from dataclasses import dataclass

from broker.domain.acts import XID_LENGTH, check_prefix
from broker.domain.errors import Invalid, NotFound
from broker.domain.ids import is_xid
from broker.domain.pages import Cursor, Page
from broker.domain.registry import Consumer
from broker.domain.states import JobFilter
from broker.operations.parts import Parts
from broker.store import job_pages
from broker.store import jobs as store
from broker.store.engine import Connection

NAMED_CANDIDATES = 5
PAGE_KEY = job_pages.KEY


@dataclass(frozen=True, slots=True)
class JobWithHistory:
    """A job and all that happened to it."""

    job: store.StoredJobFull
    history: list[store.JobEvent]


def get_job(parts: Parts, consumer: Consumer, job_id: str) -> JobWithHistory:
    """A job of this consumer; another's is not found. MySQL would take an id with blanks behind it for the id."""

    def work(connection: Connection) -> JobWithHistory:
        found = _with_history(connection, job_id) if is_xid(job_id) else None
        if found is None or found.job.consumer_key != consumer.key:
            raise NotFound(f"Consumer {consumer.id!r} has no job {job_id!r}.")
        return found

    return parts.database.read("get job", work)


def get_any_job(parts: Parts, name: str) -> JobWithHistory:
    """A job of whichever consumer, by its id or the unique start of it."""
    check_prefix("jobId", name)

    def work(connection: Connection) -> JobWithHistory:
        job_id = resolve(connection, "jobId", name)
        found = None if job_id is None else _with_history(connection, job_id)
        if found is None:
            raise NotFound(f"There is no job {name!r}.")
        return found

    return parts.database.read("get job", work)


def list_jobs(
    parts: Parts, consumer: Consumer, wanted: JobFilter, cursor: Cursor | None, limit: int
) -> Page[store.StoredJobFull]:
    """A consumer's jobs, newest first; queued ones in the order in which they will be served."""
    return parts.database.read("list jobs", lambda c: job_pages.page(c, consumer.key, wanted, cursor, limit))


def resolve(connection: Connection, field: str, name: str) -> str | None:
    """The one id that starts so, None when there is none; several are an error that names them."""
    if len(name) == XID_LENGTH:
        return name
    found = store.starting_with(connection, name, NAMED_CANDIDATES + 1)
    if len(found) > 1:
        named = ", ".join(found[:NAMED_CANDIDATES]) + (" and others" if len(found) > NAMED_CANDIDATES else "")
        raise Invalid.field(field, f"{name!r} is the start of several ids: {named}; give more than that")
    return found[0] if found else None


def parse_filter(text: str | None) -> JobFilter:
    """Which jobs to list; all when nothing is said."""
    if not text:
        return JobFilter.ALL
    try:
        return JobFilter(text)
    except ValueError:
        raise Invalid.field("state", f"must be one of {', '.join(JobFilter)}") from None


def _with_history(connection: Connection, job_id: str) -> JobWithHistory | None:
    found = store.find(connection, job_id)
    return None if found is None else JobWithHistory(found, store.history(connection, job_id))
