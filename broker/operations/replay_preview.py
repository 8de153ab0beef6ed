"""A dry run of a replay: how many would go, and who would not, counted with a bound; nothing is changed."""

from collections import Counter
from dataclasses import dataclass

from broker.domain.states import JobStatus
from broker.operations.dlq_status import read_status
from broker.operations.moved_dead import OVER, Selection
from broker.operations.parts import Parts
from broker.operations.replay import Asked
from broker.operations.show_dlq import Json, show_target
from broker.store import dead_ranges, moved_dead
from broker.store.dead_ranges import Spot, Stretch
from broker.store.engine import Connection
from broker.store.moments import SqlTime
from broker.store.summary import BEGINNING

LOOKED_AT_MOST = 10_000
PAGE = 500


@dataclass(frozen=True, slots=True)
class Preview:
    """How many are retained and how many wait as moved; `complete` unless there were more than are looked at.

    `leased` and `dead` are moved ones that are left alone: somebody works on them, or they died there once more.
    """

    retained: int
    moved: int
    leased: int
    dead: int
    complete: bool


def preview(parts: Parts, asked: Asked) -> Preview:
    """Look at them as they are now."""
    retained, all_retained = _retained(parts, asked)
    moved, all_moved = parts.database.read("look at moved dead", lambda c: _moved(c, asked))
    counts = moved[JobStatus.QUEUED], moved[JobStatus.INFLIGHT], moved[JobStatus.DEAD]
    return Preview(retained, *counts, complete=all_retained and all_moved)


def show_preview(asked: Asked, found: Preview) -> Json:
    """What would be done."""
    limit, replayable = asked.errand.limit, found.retained + found.moved
    return {
        "dryRun": True,
        "channelId": asked.consumer.channel_id,
        "consumerId": asked.consumer.id,
        "filter": asked.wish.filter.to_json(),
        "limit": limit,
        "target": show_target(asked.errand.target),
        "replayable": replayable if limit is None else min(limit, replayable),
        "retained": found.retained,
        "moved": found.moved,
        "leftAlone": {"inflight": found.leased, "dead": found.dead},
        "complete": found.complete,
    }


def _retained(parts: Parts, asked: Asked) -> tuple[int, bool]:
    """Without conditions it is their number, which is known however many they are."""
    consumer = asked.consumer
    if not asked.wish.filter.to_json():
        return sum(one.count.dead for one in read_status(parts, consumer.channel_id, consumer.id)), True
    return parts.database.read("look at the dead", lambda c: _that_meet(c, asked))


def _that_meet(connection: Connection, asked: Asked) -> tuple[int, bool]:
    key, wanted = asked.consumer.key, asked.wish.filter
    moment = SqlTime(connection).moment
    until = wanted.died_before or max(moment, dead_ranges.latest(connection, key) or moment)
    after = Spot(wanted.died_after or BEGINNING, "")
    found = dead_ranges.find(connection, key, after, until, until, LOOKED_AT_MOST)
    if found is None:
        return 0, True
    stretch = Stretch(key, after, *found, *dead_ranges.condition_of(wanted, deletable_only=False))
    return dead_ranges.count(connection, stretch), stretch.length < LOOKED_AT_MOST


def _moved(connection: Connection, asked: Asked) -> tuple[Counter[JobStatus], bool]:
    """Those that are not over, by their status."""
    counts: Counter[JobStatus] = Counter()
    waiting_at, source = asked.errand.waiting_at, moved_dead.home(connection, asked.consumer.key)
    if waiting_at is None or source is None:
        return counts, True
    selection, after = Selection(source, asked.wish.filter), ""
    for _ in range(LOOKED_AT_MOST // PAGE):
        found = moved_dead.find(connection, waiting_at, after, PAGE)
        counts.update(one.status for one in selection.of(connection, found) if one.status not in OVER)
        if len(found) < PAGE:
            return counts, True
        after = found[-1].source_job_id
    return counts, False
