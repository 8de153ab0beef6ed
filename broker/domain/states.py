"""The states of messages and jobs, as they are stored."""

from datetime import datetime
from enum import IntEnum, StrEnum


class JobStatus(IntEnum):
    """Where a job is in its life."""

    QUEUED = 1001
    INFLIGHT = 1002
    DELIVERED = 1003
    DEAD = 1004
    ARCHIVED = 1005


UNFINISHED = (JobStatus.QUEUED, JobStatus.INFLIGHT)


def state_of(status: JobStatus, next_attempt_at: datetime | None, retries_made: int, at: datetime) -> str:
    """The status as people see it: a queued job may be scheduled, or wait out a retry delay."""
    if status is not JobStatus.QUEUED:
        return status.name.lower()
    if next_attempt_at is None or next_attempt_at <= at:
        return "queued"
    return "retrying" if retries_made else "scheduled"


class JobFilter(StrEnum):
    """Which of a consumer's jobs a list shows; queued are all that wait, scheduled and retrying ones too."""

    ALL = "all"
    QUEUED = "queued"
    INFLIGHT = "inflight"
    DELIVERED = "delivered"
    DEAD = "dead"
    ARCHIVED = "archived"


class MessageStatus(IntEnum):
    """ACKNOWLEDGED: stored, waiting for its scheduled time. DISPATCHED: its jobs are due."""

    ACKNOWLEDGED = 101
    DISPATCHED = 102


class ScheduleStatus(StrEnum):
    """The same two moments as clients of scheduled messages know them."""

    SCHEDULED = "SCHEDULED"
    DISPATCHED = "DISPATCHED"


class DeadReason(StrEnum):
    """Why a job will not be tried again."""

    RETRIES_EXHAUSTED = "RETRIES_EXHAUSTED"
    NON_RETRYABLE = "NON_RETRYABLE"
    EXPIRED = "EXPIRED"
    REJECTED = "REJECTED"
    MALFORMED = "MALFORMED"
    MAX_HOPS = "MAX_HOPS"
    FORCED = "FORCED"


class ConsumerType(StrEnum):
    """How a consumer gets its jobs."""

    PUSH = "push"
    PULL = "pull"
