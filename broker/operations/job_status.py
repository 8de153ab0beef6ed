"""How many jobs every consumer has in each status, at a cost that does not grow with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker.domain.states import JobStatus
from broker.domain.times import show_time
from broker.operations.dlq_status import DeadStanding, read_status
from broker.operations.parts import Parts
from broker.store import job_counts as store
from broker.store.engine import Connection
from broker.store.job_counts import Tally

EXAMINED_EACH, EXAMINED_IN_ALL, LEAST_EACH = 10_000, 200_000, 100


@dataclass(frozen=True, slots=True)
class JobStanding:
    """A consumer's jobs by their status."""

    channel_id: str
    consumer_id: str
    tallies: Mapping[JobStatus, Tally]


def read_job_status(parts: Parts, channel_id: str | None, consumer_id: str | None) -> list[JobStanding]:
    """Every consumer, or those asked for. The dead are exact; others as far as the bound of examined entries goes."""
    standings = read_status(parts, channel_id, consumer_id)
    return parts.database.read("count jobs", lambda c: _count(c, standings))


def show_job_status(standings: Sequence[JobStanding]) -> dict[str, dict[str, list[dict[str, object]]]]:
    """By channel and consumer, as clients of the older contract know it."""
    shown: dict[str, dict[str, list[dict[str, object]]]] = {}
    for one in standings:
        tallies = [_shown(status, one.tallies[status]) for status in JobStatus]
        shown.setdefault(one.channel_id, {})[one.consumer_id] = tallies
    return shown


def _count(connection: Connection, standings: Sequence[DeadStanding]) -> list[JobStanding]:
    keys = [one.place.key for one in standings]
    most = max(LEAST_EACH, min(EXAMINED_EACH, EXAMINED_IN_ALL // max(1, len(keys))))
    queued, inflight = store.queued(connection, keys, most), store.inflight(connection, keys)
    finished = store.finished(connection, keys, most)
    newest = store.newest_deaths(connection, [one.place.key for one in standings if one.count.dead])
    found = []
    for one in standings:
        key = one.place.key
        dead = Tally(one.count.dead, one.oldest_dead_at, newest.get(key))
        tallies = {JobStatus.QUEUED: queued[key], JobStatus.INFLIGHT: inflight[key], JobStatus.DEAD: dead}
        found.append(JobStanding(one.place.channel_id, one.place.consumer_id, {**tallies, **finished[key]}))
    return found


def _shown(status: JobStatus, tally: Tally) -> dict[str, object]:
    return {
        "status": status.name,
        "count": tally.count,
        "exact": tally.exact,
        "oldest": None if tally.oldest is None else show_time(tally.oldest),
        "newest": None if tally.newest is None else show_time(tally.newest),
    }
