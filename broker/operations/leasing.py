"""Pull delivery: a client leases jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from broker.domain.overrides import resolve
from broker.domain.pulling import LeaseWish
from broker.domain.registry import Channel, Consumer
from broker.domain.work import ClaimedJob
from broker.operations.parts import Parts
from broker.operations.reaping import bury
from broker.operations.waiting import wait_for
from broker.store import channels, consumers
from broker.store.claiming import due_ids, lease_jobs, read_claimed, read_payload
from broker.store.engine import Connection
from broker.store.lanes import due_priorities
from broker.store.moments import SqlTime

LARGEST_ANSWER = 16_000_000
MOST_LOOKS = 20
SPARE = 100


@dataclass(frozen=True, slots=True)
class Leased:
    """What a client got; no token when there was nothing to get."""

    token: str | None
    expires_at: datetime | None
    jobs: Sequence[ClaimedJob]


NOTHING = Leased(None, None, ())


def list_queued(parts: Parts, consumer: Consumer, limit: int) -> list[ClaimedJob]:
    """Jobs that could be leased now, in the order in which they would be; whatever the backlog, a few look-ups."""

    def work(connection: Connection) -> list[ClaimedJob]:
        clock = SqlTime(connection)
        ids = _due(connection, clock, consumer.key, limit + SPARE, lock=False) if is_open(connection, consumer) else []
        living = [one for one in read_claimed(connection, clock, ids) if not _is_dying(one)] if ids else []
        return _within_reason(connection, living[:limit])

    return parts.database.read("list queued jobs", work)


def lease(parts: Parts, consumer: Consumer, wish: LeaseWish) -> Leased:
    """Up to so many jobs, oldest first within a priority; waits for the first one as long as the client wishes.

    Nobody holds a connection while waiting; when too many wait already, the answer comes at once. A client whose
    answer is lost gets the jobs back when the lease ends.
    """
    found = _lease_once(parts, consumer, wish)
    if found.jobs or not wish.wait:
        return found
    return wait_for(parts, wish.wait, lambda: _lease_if_due(parts, consumer, wish)) or NOTHING


def is_open(connection: Connection, consumer: Consumer) -> bool:
    """Whether it is still there and neither it nor its channel is paused, as of this very moment."""
    channel = channels.find(connection, consumer.channel_id)
    found = consumers.find(connection, consumer.channel_id, consumer.id)
    if channel is None or found is None or found.key != consumer.key:
        return False
    return not (channel.paused or found.paused)


def lease_seconds(parts: Parts, connection: Connection, consumer: Consumer) -> float:
    """How long a lease lasts when the client does not say."""
    channel: Channel | None = channels.find(connection, consumer.channel_id)
    layers = (consumer.overrides, channel.overrides if channel else {})
    return float(resolve("lease", parts.settings.lease, *layers))


def _lease_if_due(parts: Parts, consumer: Consumer, wish: LeaseWish) -> Leased | None:
    """Looks before it leases: to look locks nothing."""

    def is_due(connection: Connection) -> bool:
        clock = SqlTime(connection)
        return bool(due_priorities(connection, clock, consumer.key)) and is_open(connection, consumer)

    found = _lease_once(parts, consumer, wish) if parts.database.read("look for due jobs", is_due) else NOTHING
    return found if found.jobs else None


def _lease_once(parts: Parts, consumer: Consumer, wish: LeaseWish) -> Leased:
    """Jobs that have expired die instead of being handed out, parked ones try again to; then it looks for others."""
    for _ in range(MOST_LOOKS):
        found, dying = parts.database.write("lease", lambda c: _lease(parts, c, consumer, wish))
        if dying:
            bury(parts, consumer.key, dying)
        if found.jobs or not dying:
            break
    return found


def _lease(parts: Parts, connection: Connection, consumer: Consumer, wish: LeaseWish) -> tuple[Leased, list[str]]:
    """What is leased, and the ids of those that are to die. Those too many for one answer keep their place."""
    clock = SqlTime(connection)
    ids = _due(connection, clock, consumer.key, wish.limit, lock=True) if is_open(connection, consumer) else []
    claimed = read_claimed(connection, clock, ids) if ids else []
    dying = [one.id for one in claimed if _is_dying(one)]
    jobs = _within_reason(connection, [one for one in claimed if not _is_dying(one)])
    if not jobs:
        return NOTHING, dying
    token, seconds = parts.ids.new(), wish.seconds or lease_seconds(parts, connection, consumer)
    lease_jobs(connection, clock, [one.id for one in jobs], token, wish.client_id, seconds, consumer.key)
    return Leased(token, clock.moment_after(seconds), jobs), dying


def _is_dying(job: ClaimedJob) -> bool:
    return bool(job.expired or job.dead_reason)


def _due(connection: Connection, clock: SqlTime, key: int, limit: int, lock: bool) -> list[str]:
    ids: list[str] = []
    for priority in due_priorities(connection, clock, key):
        ids += due_ids(connection, clock, key, priority, limit - len(ids), lock)
        if len(ids) >= limit:
            break
    return ids


def _within_reason(connection: Connection, jobs: Sequence[ClaimedJob]) -> list[ClaimedJob]:
    """As many as one answer can carry, at least one, with their payloads."""
    size = 0
    carried: list[ClaimedJob] = []
    for one in jobs:
        size += one.size
        if carried and size > LARGEST_ANSWER:
            break
        carried.append(one if one.payload is not None else one._replace(payload=_fetched(connection, one)))
    return carried


def _fetched(connection: Connection, job: ClaimedJob) -> bytes:
    return read_payload(connection, job.message_key) or b""
