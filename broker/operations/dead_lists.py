"""Looking at a consumer's dead."""

from broker.domain.dead_selection import DeadFilter
from broker.domain.errors import Invalid
from broker.domain.pages import Cursor, Page
from broker.domain.registry import Consumer
from broker.operations.parts import Parts
from broker.store import dead_pages, job_pages
from broker.store.jobs import StoredJobFull

PAGE_KEY = job_pages.KEY
_ORDERS = {"newest": True, "oldest": False}


def list_dead_jobs(
    parts: Parts, consumer: Consumer, wanted: DeadFilter, newest_first: bool, cursor: Cursor | None, limit: int
) -> Page[StoredJobFull]:
    """Those that meet the conditions, by the time of their death. A page may be short and have a next one."""
    return parts.database.read(
        "list dead jobs", lambda c: dead_pages.page(c, consumer.key, wanted, newest_first, cursor, limit)
    )


def parse_order(text: str | None) -> bool:
    """Whether the newest come first; they do when nothing is said."""
    if text and text not in _ORDERS:
        raise Invalid.field("order", f"must be one of {', '.join(_ORDERS)}")
    return _ORDERS[text or "newest"]
