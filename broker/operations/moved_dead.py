"""A step of a replay among the dead letters that were moved: each leaves the dead channel and waits again.

It is removed there, as it was from its consumer when it was moved: one job, which takes its history along, and of which
nobody can take the other end. Who is leased at that moment is left alone. Their lock comes after the summary rows of
the consumer and of the target, which keep both from being deleted meanwhile.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker.domain.dead_selection import DeadFilter, parse_dead_filter
from broker.domain.replay import DeadLetter
from broker.domain.states import JobStatus
from broker.operations.parts import Parts
from broker.store import deaths, finishing
from broker.store import moved_dead as store
from broker.store.engine import Connection
from broker.store.finishing import Event
from broker.store.moments import SqlTime
from broker.store.moved_dead import Home, Moved
from broker.store.operations import Operation

OVER = (JobStatus.DELIVERED, JobStatus.ARCHIVED)
MOST = 500


class Step(NamedTuple):
    """How far it went, how many went back, and how many were passed over."""

    after: str
    done: int
    skipped: int


class Selection(NamedTuple):
    """Which of the jobs of a dead channel are meant: those that died at this consumer and meet the filter."""

    source: Home
    wanted: DeadFilter

    def of(self, connection: Connection, found: Sequence[Moved]) -> list[Moved]:
        """Those of them, in their order; categories are looked up only where they matter."""
        mine = [one for one in found if (one.channel_id, one.consumer_id) == self._ids()]
        known = {} if self.wanted.category is None else store.categories(connection, mine)
        return [one for one in mine if _letter(one, known.get(one.job_id)).meets(self.wanted)]

    def _ids(self) -> tuple[str, str]:
        return self.source.channel_id, self.source.consumer_id


def replay_step(parts: Parts, connection: Connection, operation: Operation) -> Step | None:
    """The next step; none when all were looked at, or who takes part is gone."""
    places = _places(connection, operation)
    if places is None:
        return None
    source, waiting_at, _ = places
    after, most = operation.moved_after or "", min(MOST, parts.settings.dlq_chunk)
    found = store.find(connection, waiting_at.key, after, most)
    if not found:
        return None
    selection = Selection(source, _until(parse_dead_filter(operation.filter), operation))
    waiting = [one for one in selection.of(connection, found) if one.status not in OVER]
    going, last = _within(connection, waiting, operation.left, found[-1].source_job_id)
    done = _bring(parts, connection, operation, going, places)
    looked_at = sum(one.source_job_id <= last for one in waiting)
    return Step(last, done, looked_at - done)


def _places(connection: Connection, operation: Operation) -> tuple[Home, Home, Home] | None:
    """The consumer itself, the one where its moved dead wait, and the one to which they go."""
    errand = operation.errand
    if errand.waiting_at is None:
        return None
    arrival = operation.consumer_key if errand.target is None else errand.target.key
    source, waiting_at, there = (
        store.home(connection, key) for key in (operation.consumer_key, errand.waiting_at, arrival)
    )
    return None if source is None or waiting_at is None or there is None else (source, waiting_at, there)


def _until(wanted: DeadFilter, operation: Operation) -> DeadFilter:
    """Who died after it was asked for is not meant."""
    until = operation.until if wanted.died_before is None else min(wanted.died_before, operation.until)
    return DeadFilter(wanted.category, fingerprint=wanted.fingerprint, died_after=wanted.died_after, died_before=until)


def _within(connection: Connection, waiting: Sequence[Moved], left: int | None, last: str) -> tuple[list[Moved], str]:
    """Those that still wait, locked, as many as may go; and up to whom this step has looked."""
    queued = sorted(one.job_id for one in waiting if one.status is JobStatus.QUEUED)
    held = {one.id for one in finishing.lock_jobs(connection, queued, JobStatus.QUEUED)}
    going = [one for one in waiting if one.job_id in held]
    if left is None or len(going) < left:
        return going, last
    return going[:left], going[left - 1].source_job_id


def _bring(
    parts: Parts, connection: Connection, operation: Operation, going: Sequence[Moved], places: tuple[Home, Home, Home]
) -> int:
    if not going:
        return 0
    source, waiting_at, arrival = places
    time, at_home = SqlTime(connection), source.channel_key == arrival.channel_key
    detail = f"from {waiting_at.channel_id}/{waiting_at.consumer_id}"
    events = [Event(one.job_id, parts.ids.new(), "replayed", operation.actor, detail=detail) for one in going]
    finishing.insert_events(connection, time.moment, events)
    moves = list(_moves(parts, connection, going, waiting_at, arrival.channel_key if at_home else None))
    return deaths.move(connection, time, moves, arrival.key, arrival.channel_key)


def _moves(
    parts: Parts, connection: Connection, going: Sequence[Moved], waiting_at: Home, home_channel: int | None
) -> Iterator[deaths.Move]:
    """Where they come home, they find the message that they were made of; elsewhere its copy goes with them."""
    for one in going:
        there = None if home_channel is None else store.same_message(connection, home_channel, one)
        job_id, message_key = parts.ids.block(2)
        yield deaths.Move(
            one.job_id, one.message_key, waiting_at.channel_id, waiting_at.consumer_id, one.error_type, one.error_text,
            one.retry_count, job_id, there or message_key, there is not None, one.failed_at, replays=1,
        )  # fmt: skip


def _letter(one: Moved, category: str | None) -> DeadLetter:
    return DeadLetter(one.failed_at, one.error_type, one.error_text, category)
