"""How many are dead, of whom, since when: exact at the moment of the answer, at a cost that does not grow with them."""

from dataclasses import dataclass
from datetime import datetime

from broker.domain.errors import Unavailable
from broker.operations.parts import Parts
from broker.operations.rules import dead_rules
from broker.store import checkpoints, locks
from broker.store import dlq_status as store
from broker.store.engine import Connection
from broker.store.moments import SqlTime

TRIES = 5
LOCK, RUN = "dlq-summary-updater", "checkpoint"


@dataclass(frozen=True, slots=True)
class DeadStanding:
    """A consumer's dead: how many, how many ever, since when, how many lately; and its limit (0: none)."""

    place: store.Place
    count: store.Count
    oldest_dead_at: datetime | None
    died_last_hour: int
    max_size: int

    @property
    def utilization_percent(self) -> float | None:
        """How full it is; None where there is no limit."""
        return round(100 * self.count.dead / self.max_size, 2) if self.max_size else None


@dataclass(frozen=True, slots=True)
class DeadStatus:
    """Consumers and how their dead stand, and the database's time of reading, from which ages are told."""

    read_at: datetime
    standings: list[DeadStanding]


@dataclass(frozen=True, slots=True)
class Health:
    """The checkpointer's: its last run, who holds its lock now, and the time of reading."""

    read_at: datetime
    last_run: checkpoints.Run | None
    holder: locks.Holder | None


def read_status(parts: Parts, channel_id: str | None = None, consumer_id: str | None = None) -> list[DeadStanding]:
    """Every consumer, or those asked for, in the order of their making. A checkpoint in between is noticed."""
    return parts.database.read("read dead letters", lambda c: _read(parts, c, channel_id, consumer_id))


def read_status_now(parts: Parts, channel_id: str | None = None, consumer_id: str | None = None) -> DeadStatus:
    """The same, with its moment."""

    def work(connection: Connection) -> DeadStatus:
        return DeadStatus(SqlTime(connection).moment, _read(parts, connection, channel_id, consumer_id))

    return parts.database.read("read dead letters", work)


def read_health(parts: Parts) -> Health:
    """How the checkpointer is doing, the same whichever instance is asked."""

    def work(connection: Connection) -> Health:
        run, holder = checkpoints.last_run(connection, RUN), locks.holder(connection, LOCK)
        return Health(SqlTime(connection).moment, run, holder)

    return parts.database.read("read checkpoint health", work)


def _read(parts: Parts, connection: Connection, channel_id: str | None, consumer_id: str | None) -> list[DeadStanding]:
    counts: dict[int, store.Count] = {}
    for _ in range(TRIES):
        places = store.places(connection, channel_id, consumer_id)
        counts |= store.count(connection, {one.key: one.checked_at for one in places if one.key not in counts})
        if all(one.key in counts for one in places):
            return _complete(parts, connection, places, counts)
    raise Unavailable("The summary is being brought up to date again and again. Ask again in a moment.")


def _complete(
    parts: Parts, connection: Connection, places: list[store.Place], counts: dict[int, store.Count]
) -> list[DeadStanding]:
    """What need not be of the very same moment."""
    hour = store.died_in_last_hour(connection, [one.key for one in places])
    oldest = store.oldest_deaths(connection, {one.key: one.cleared_to for one in places if counts[one.key].dead})
    return [
        DeadStanding(
            one,
            counts[one.key],
            oldest.get(one.key),
            hour.get(one.key, 0) + counts[one.key].since_checkpoint,
            dead_rules(parts.settings, one.overrides, one.channel_overrides).max_size,
        )
        for one in places
    ]
