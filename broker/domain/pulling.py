"""What pull clients ask for and what they answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from broker.domain.failures import Failure, Outcome
from broker.domain.states import JobStatus

MOST_JOBS = 1000
LONGEST_WAIT = 20.0
SHORTEST_LEASE, LONGEST_LEASE = 1.0, 12 * 3600.0
LONGEST_CLIENT_ID = 255
LONGEST_MORE = 12 * 3600
CLIENT = "client"


@dataclass(frozen=True, slots=True)
class LeaseWish:
    """How many jobs a client wants, for how long, and how long it waits for the first."""

    client_id: str = CLIENT
    limit: int = 1
    seconds: float | None = None
    wait: float = 0.0


class Answer(NamedTuple):
    """What a client says of one leased job."""

    job_id: str
    token: str
    outcome: Outcome | None = None
    failure: Failure | None = None
    rejected: bool = False
    retry_at: datetime | None = None


class Step(NamedTuple):
    """The state that a client brings a job into, and the time it wants for it beyond the usual."""

    status: JobStatus
    more_seconds: int = 0
