"""Publishing: a message is answered for only when it is committed, jobs and all.

Concurrent callers share transactions (runtime/gather.py), so a burst of single posts costs the database little more
than batches do.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from broker.domain.errors import BrokerError, DuplicateMessage, NotFound, TooLarge, TooSoon, Unavailable
from broker.domain.messages import Publication
from broker.domain.registry import Channel, Producer
from broker.domain.states import DeadReason
from broker.operations.fanout import Posting, fan_out, message_row
from broker.operations.parts import Parts
from broker.operations.places import message_place
from broker.operations.tally import Happened, tally_published
from broker.runtime.gather import Gather
from broker.store import publishing as store
from broker.store.engine import Connection, Duplicate

RACES = 5


class Published(NamedTuple):
    """A message that is committed, and where it can be read."""

    message_id: str
    location: str


Outcome = Published | BrokerError


class Publisher:
    """Stores what was accepted; one per process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._gather: Gather[Posting, Outcome] = Gather(self._store)

    def publish(self, channel: Channel, producer: Producer, publication: Publication) -> Published:
        """One message; raises what is in its way."""
        posting = self._accept(channel, producer, publication)
        outcome = self._gather.submit(posting, len(publication.payload))
        if isinstance(outcome, NotFound):
            self._parts.cache.channels.forget(channel.id)
        if isinstance(outcome, BrokerError):
            raise outcome
        return outcome

    def publish_many(
        self, channel: Channel, producer: Producer, publications: Sequence[Publication | BrokerError]
    ) -> list[Outcome]:
        """Many messages in one transaction, each with its own outcome; what is refused already keeps its refusal."""
        accepted = [self._accepted(channel, producer, one) for one in publications]
        stored = iter(self._store([one for one in accepted if isinstance(one, Posting)]))
        return [next(stored) if isinstance(one, Posting) else one for one in accepted]

    def _accepted(self, channel: Channel, producer: Producer, one: Publication | BrokerError) -> Posting | BrokerError:
        try:
            return one if isinstance(one, BrokerError) else self._accept(channel, producer, one)
        except BrokerError as refusal:
            return refusal

    def _accept(self, channel: Channel, producer: Producer, publication: Publication) -> Posting:
        limit = self._parts.settings.max_payload_bytes
        if len(publication.payload) > limit:
            raise TooLarge(f"The payload has {len(publication.payload)} bytes, at most {limit} are accepted.")
        self._check_schedule(publication)
        key = self._parts.ids.new()
        return Posting(key, channel, producer, publication, publication.message_id or key)

    def _check_schedule(self, publication: Publication) -> None:
        ahead = self._parts.settings.schedule_min_ahead
        if publication.scheduled_for is None:
            return
        if publication.scheduled_for < self._parts.clock.now() + timedelta(seconds=ahead):
            raise TooSoon(f"A message must be scheduled at least {ahead:g} s ahead of now.")

    def _store(self, postings: Sequence[Posting]) -> list[Outcome]:
        """Take for granted that every id is free; only when one is not, find out which."""
        if not postings:
            return []
        if len({posting.place for posting in postings}) == len(postings):
            try:
                return self._write(postings, look_first=False)
            except Duplicate:
                pass
        return self._store_what_is_new(postings)

    def _store_what_is_new(self, postings: Sequence[Posting]) -> list[Outcome]:
        for _ in range(RACES):
            try:
                return self._write(postings, look_first=True)
            except Duplicate:
                continue
        raise Unavailable("Too many publishers use the same message ids at once. Send it again in a moment.")

    def _write(self, postings: Sequence[Posting], look_first: bool) -> list[Outcome]:
        """A commit whose answer was lost is tried again: then our own rows are found as duplicates of themselves."""
        batch = _Batch(self._parts, postings, look_first)
        outcomes = self._parts.database.write("publish", batch, repeatable=True)
        stored = zip(postings, outcomes, strict=True)
        tally_published(self._parts.tally, (one.channel.id for one, done in stored if isinstance(done, Published)))
        if batch.dead:
            self._parts.tally.count(Happened.DIED, DeadReason.MAX_HOPS, batch.dead)
        return outcomes


class _Batch:
    """One transaction's worth of postings."""

    def __init__(self, parts: Parts, postings: Sequence[Posting], look_first: bool) -> None:
        self.parts, self.postings, self.look_first = parts, postings, look_first
        self.dead = 0

    def __call__(self, connection: Connection) -> list[Outcome]:
        """Outcomes in the order of the postings."""
        moment, opened = store.open_channels(connection, {p.channel.key for p in self.postings})
        taken = store.existing(connection, (p.place for p in self.postings)) if self.look_first else {}
        outcomes, fresh = self._sort(taken, opened)
        messages = [message_row(posting, moment) for posting in fresh]
        jobs = fan_out(self.parts, messages, opened)
        store.insert(connection, messages, jobs, self.parts.settings.dlq_settle)
        self.dead = sum(job.is_dead for job in jobs)
        return outcomes

    def _sort(
        self, taken: dict[tuple[int, str], str], opened: Mapping[int, store.OpenChannel]
    ) -> tuple[list[Outcome], list[Posting]]:
        """Who is new. One that is found under its own key was committed by an earlier try, whose answer was lost."""
        outcomes: list[Outcome] = []
        fresh: list[Posting] = []
        for posting in self.postings:
            if posting.channel.key not in opened:
                outcomes.append(NotFound(f"There is no channel {posting.channel.id!r}."))
                continue
            if posting.place not in taken:
                taken[posting.place] = posting.key
                fresh.append(posting)
            outcomes.append(_outcome(posting, taken[posting.place]))
        return outcomes, fresh


def _outcome(posting: Posting, holder: str) -> Outcome:
    scheduled = posting.publication.scheduled_for is not None
    if holder == posting.key:
        return Published(posting.message_id, message_place(posting.channel.id, posting.message_id, scheduled))
    location = message_place(posting.channel.id, posting.message_id)
    return DuplicateMessage(f"The channel has a message {posting.message_id!r} already.", location=location)
