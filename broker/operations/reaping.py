"""Leases and lives that have ended: lost work is taken up again, and what came too late dies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from broker.domain.failures import LEASE_EXPIRED, network_failure
from broker.domain.states import ConsumerType, DeadReason, JobStatus
from broker.operations.finishing import BROKER
from broker.operations.parts import Parts
from broker.operations.settling import Case, Settling, moving
from broker.operations.tally import tally_deaths
from broker.store import expiring, finishing, leases, targets
from broker.store.engine import Connection
from broker.store.moments import SqlTime

LEASES_AT_ONCE = 20
EXPIRED_AT_ONCE = 500
POSTPONE_SECONDS = 10.0
EXPIRED = network_failure("EXPIRED", "The job expired before it was delivered.")


@dataclass(slots=True)
class Reaped:
    """What was found: leases (or lives) that had ended, jobs that wait again, and deaths by job."""

    ended: int = 0
    given_back: int = 0
    deaths: dict[str, str] = field(default_factory=dict)
    discarded: list[str] = field(default_factory=list)


def reap_leases(parts: Parts) -> Reaped:
    """Take back what a dead process or a lost client held. A pull client's lost lease is a failure; a push is not:
    nobody knows whether it was sent, so no attempt is burnt."""
    return _with_dead_channels(parts, "reap leases", _reap_leases)


def expire_jobs(parts: Parts) -> Reaped:
    """Jobs past their time die, unless they are leased: then they are looked at again when the lease may have ended."""
    return _with_dead_channels(parts, "expire jobs", _expire_jobs)


def bury(parts: Parts, consumer_key: int, ids: Sequence[str]) -> None:
    """Waiting jobs of a consumer that must not be handed out: expired ones die, parked ones try again to."""

    def work(parts: Parts, connection: Connection, may_move: bool) -> Reaped:
        settling = Settling(parts, connection, SqlTime(connection), {consumer_key}, may_move)
        settling.settle(_dying_cases(connection, SqlTime(connection), ids))
        return Reaped(len(ids), 0, settling.deaths, settling.discarded)

    _with_dead_channels(parts, "bury jobs", work)


def _with_dead_channels(parts: Parts, name: str, work: Callable[[Parts, Connection, bool], Reaped]) -> Reaped:
    reaped = moving(parts, lambda may: parts.database.write(name, lambda c: work(parts, c, may), repeatable=True))
    tally_deaths(parts.tally, reaped.deaths.values(), reaped.discarded)
    return reaped


def _reap_leases(parts: Parts, connection: Connection, may_move: bool) -> Reaped:
    time, reaped = SqlTime(connection), Reaped()
    found = leases.ended(connection, time, LEASES_AT_ONCE)
    if not found:
        return reaped
    rules = targets.read_rules(connection, {one.consumer_key for one in found})
    for one in found:
        row = rules.get(one.consumer_key)
        if row is not None and row.type is ConsumerType.PULL:
            _fail_lost(parts, connection, time, one, may_move, reaped)
        else:
            reaped.given_back += _take_back(parts, connection, time, one)
    leases.remove(connection, [one.token for one in found])
    reaped.ended = len(found)
    return reaped


def _take_back(parts: Parts, connection: Connection, time: SqlTime, lease: leases.Lease) -> int:
    lost = finishing.lock_held(connection, dict.fromkeys(lease.job_ids, lease.token))
    ids = [one.id for one in lost]
    events = [finishing.Event(one, parts.ids.new(), "lease-lost", BROKER) for one in ids]
    finishing.insert_events(connection, time.moment, events)
    return leases.give_back(connection, time, lease.token, ids)


def _fail_lost(
    parts: Parts, connection: Connection, time: SqlTime, lease: leases.Lease, may_move: bool, reaped: Reaped
) -> None:
    settling = Settling(parts, connection, time, {lease.consumer_key}, may_move)
    lost = finishing.lock_held(connection, dict.fromkeys(lease.job_ids, lease.token))
    settling.settle([Case(one, LEASE_EXPIRED, BROKER) for one in lost])
    reaped.deaths |= settling.deaths
    reaped.discarded += settling.discarded
    reaped.given_back += len(lost) - len(settling.deaths)


def _expire_jobs(parts: Parts, connection: Connection, may_move: bool) -> Reaped:
    time, reaped = SqlTime(connection), Reaped()
    entries = expiring.overdue(connection, time, EXPIRED_AT_ONCE)
    if not entries:
        return reaped
    found = expiring.look_at(connection, sorted({one.job_id for one in entries}))
    leased = {one.job_id for one in found if one.status == JobStatus.INFLIGHT}
    keys = {one.consumer_key for one in found if one.consumer_key is not None}
    settling = Settling(parts, connection, time, keys, may_move)
    waiting = [one.job_id for one in found if one.status == JobStatus.QUEUED]
    settling.settle(_dying_cases(connection, time, waiting))
    expiring.postpone(connection, time, [one for one in entries if one.job_id in leased], POSTPONE_SECONDS)
    expiring.forget(connection, [one for one in entries if one.job_id not in leased])
    reaped.ended, reaped.deaths, reaped.discarded = len(entries), settling.deaths, settling.discarded
    return reaped


def _dying_cases(connection: Connection, time: SqlTime, ids: Sequence[str]) -> list[Case]:
    """A job whose expiry was lifted meanwhile, or that is no longer parked, lives on."""
    held = finishing.lock_jobs(connection, ids, JobStatus.QUEUED)
    parked = [Case(one, None, BROKER) for one in held if one.dead_reason is not None]
    late = [one for one in held if one.dead_reason is None and _is_late(one, time)]
    return parked + [Case(one, EXPIRED, BROKER, reason=DeadReason.EXPIRED) for one in late]


def _is_late(job: finishing.Held, time: SqlTime) -> bool:
    return job.expires_at is not None and job.expires_at <= time.moment
