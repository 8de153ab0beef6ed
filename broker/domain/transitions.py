"""Which step a job may take; storage refuses what is not listed here."""

from broker.domain.states import JobStatus

_Q, _I, _OK, _D, _A = (
    JobStatus.QUEUED,
    JobStatus.INFLIGHT,
    JobStatus.DELIVERED,
    JobStatus.DEAD,
    JobStatus.ARCHIVED,
)

TRANSITIONS: frozenset[tuple[JobStatus, JobStatus]] = frozenset(
    {
        (_Q, _I),  # claimed or leased
        (_Q, _OK),  # an operator says that it is done
        (_Q, _D),  # expired, or an operator says that it has failed
        (_I, _Q),  # retried, given back, or its lease was lost
        (_I, _OK),  # answered
        (_I, _D),  # out of retries, rejected, expired
        (_D, _Q),  # requeued
        (_D, _I),  # taken up again by a pull client
        (_D, _OK),  # an operator says that it is done
        (_D, _A),  # archived
        (_A, _D),  # taken back from the archive
    }
)


def may_become(now: JobStatus, then: JobStatus) -> bool:
    """Whether a job in one status may go to the other."""
    return (now, then) in TRANSITIONS


def sources_of(then: JobStatus) -> frozenset[JobStatus]:
    """The statuses from which a job may come."""
    return frozenset(now for now, target in TRANSITIONS if target is then)
