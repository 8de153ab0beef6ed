"""Jobs are brought in from elsewhere: all that are new, in one transaction, each with its own outcome.

A job that says where it comes from arrives once: a second arrival is passed over without an error.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.domain.errors import BrokerError, NotFound, TooLarge, Unavailable
from broker.domain.importing import ImportedJob
from broker.domain.registry import Channel, Consumer, Producer
from broker.operations.fanout import Posting, expiry_seconds
from broker.operations.import_rows import Arriving, Terms, rows_of
from broker.operations.parts import Parts
from broker.operations.places import consumer_place
from broker.operations.producers import importer
from broker.operations.tally import Happened
from broker.store import channels, publishing
from broker.store import importing as store
from broker.store.engine import Connection, Duplicate
from broker.store.publishing import OpenChannel

RACES = 5
log = logging.getLogger(__name__)


class Imported(NamedTuple):
    """A job that is committed: new, or here already."""

    job_id: str
    location: str
    created: bool


ImportOutcome = Imported | BrokerError


def import_jobs(
    parts: Parts, consumer: Consumer, jobs: Sequence[ImportedJob | BrokerError], actor: str
) -> list[ImportOutcome]:
    """Outcomes in the order of the jobs; what is refused already keeps its refusal."""
    channel, producer = _channel(parts, consumer), importer(parts)
    accepted = [one if isinstance(one, BrokerError) else _accept(parts, channel, producer, one) for one in jobs]
    arriving = [one for one in accepted if isinstance(one, Arriving)]
    stored = iter(_store(parts, consumer, arriving, actor))
    outcomes = [next(stored) if isinstance(one, Arriving) else one for one in accepted]
    created = sum(isinstance(one, Imported) and one.created for one in outcomes)
    place = f"{consumer.channel_id}/{consumer.id}"
    log.info("%s imported %d jobs into %s, %d were passed over", actor, created, place, len(outcomes) - created)
    return outcomes


def _accept(parts: Parts, channel: Channel, producer: Producer, wanted: ImportedJob) -> Arriving | BrokerError:
    size, limit = len(wanted.publication.payload), parts.settings.max_payload_bytes
    if size > limit:
        return TooLarge(f"The payload has {size} bytes, at most {limit} are accepted.")
    job_id, key = parts.ids.block(2)
    return Arriving(job_id, Posting(key, channel, producer, wanted.publication, key), wanted)


def _store(parts: Parts, consumer: Consumer, arriving: Sequence[Arriving], actor: str) -> list[Imported]:
    """Found to be there already are those that another brought in just now, and our own of a commit whose answer
    was lost."""
    for race in range(RACES) if arriving else ():
        batch = _Batch(parts, consumer, arriving, actor, look_first=race > 0)
        try:
            outcomes = parts.database.write("import jobs", batch, repeatable=True)
        except Duplicate:
            continue
        _tally(parts, arriving, outcomes)
        return outcomes
    if arriving:
        raise Unavailable("Others import the same jobs at the same time. Send them again in a moment.")
    return []


def _tally(parts: Parts, arriving: Sequence[Arriving], outcomes: Sequence[Imported]) -> None:
    pairs = zip(arriving, outcomes, strict=True)
    reasons = Counter(one.wanted.dead_reason for one, outcome in pairs if outcome.created)
    for reason, number in reasons.items():
        if reason is not None:
            parts.tally.count(Happened.DIED, reason, number)


class _Batch:
    """One transaction's worth of jobs."""

    def __init__(
        self, parts: Parts, consumer: Consumer, arriving: Sequence[Arriving], actor: str, look_first: bool
    ) -> None:
        self._parts, self._consumer, self._arriving, self._actor = parts, consumer, arriving, actor
        self._look_first = look_first

    def __call__(self, connection: Connection) -> list[Imported]:
        """Outcomes in the order of the jobs."""
        moment, opened = publishing.open_channels(connection, {self._consumer.channel_key})
        seconds = _expiry(self._parts, self._consumer, opened)
        outcomes, fresh = self._sort(connection)
        rows = rows_of(self._parts, self._consumer.key, fresh, Terms(moment, seconds, self._actor))
        store.insert_imported(connection, rows, self._parts.settings.dlq_settle)
        return outcomes

    def _sort(self, connection: Connection) -> tuple[list[Imported], list[Arriving]]:
        """Who is new. One that is found under its own id was committed by an earlier try, whose answer was lost."""
        sources = (one.wanted.source_job_id for one in self._arriving)
        known = store.known_sources(connection, self._consumer.key, filter(None, sources))
        own = store.stored(connection, [one.job_id for one in self._arriving]) if self._look_first else set()
        outcomes: list[Imported] = []
        fresh: list[Arriving] = []
        for one in self._arriving:
            source = one.wanted.source_job_id
            if source not in known and one.job_id not in own:
                fresh.append(one)
            holder = one.job_id if source is None else known.setdefault(source, one.job_id)
            outcomes.append(self._outcome(holder, created=holder == one.job_id))
        return outcomes, fresh

    def _outcome(self, job_id: str, created: bool) -> Imported:
        return Imported(job_id, consumer_place(self._consumer.channel_id, self._consumer.id, "job", job_id), created)


def _channel(parts: Parts, consumer: Consumer) -> Channel:
    found = parts.database.read("find channel", lambda c: channels.find(c, consumer.channel_id))
    if found is None:
        raise NotFound(f"There is no channel {consumer.channel_id!r}.")
    return found


def _expiry(parts: Parts, consumer: Consumer, opened: Mapping[int, OpenChannel]) -> float | None:
    channel = opened.get(consumer.channel_key)
    if channel is not None:
        for target in channel.targets:
            if target.key == consumer.key:
                return expiry_seconds(parts, target, channel)
    raise NotFound(f"Channel {consumer.channel_id!r} has no consumer {consumer.id!r}.")
