"""Jobs that are brought in from elsewhere."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from broker.domain.failures import Failure
from broker.domain.messages import Publication
from broker.domain.states import DeadReason

MOST_IMPORTED = 1000
MOST_EVENTS = 100


class Arrival(StrEnum):
    """How an imported job begins."""

    QUEUED = "queued"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a job was before, as far as that is known."""

    channel_id: str | None = None
    consumer_id: str | None = None
    message_id: str | None = None
    error_type: str | None = None
    error_text: str | None = None
    failed_at: datetime | None = None
    retry_count: int = 0


class PastEvent(NamedTuple):
    """A line of the history that a job brings along."""

    at: datetime
    event: str
    actor: str
    error_type: str | None
    error_category: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class ImportedJob:
    """What is to become a job; without a reason to be dead it is queued."""

    publication: Publication
    source_job_id: str | None
    origin: Origin
    dead_reason: DeadReason | None
    failure: Failure | None
    history: tuple[PastEvent, ...]
