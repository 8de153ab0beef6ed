"""What came of leased jobs is written here: by the engine, by pull clients, and when a lease or a life ends."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from broker.domain.failures import Answered, Failure, Outcome
from broker.operations.parts import Parts
from broker.operations.settling import Case, Settling, moving
from broker.operations.tally import tally_deaths
from broker.store import finishing as store
from broker.store import leases
from broker.store.engine import Connection
from broker.store.moments import SqlTime

BROKER = "broker"
LATE, DELIVERED = "late", "delivered"
log = logging.getLogger(__name__)


class Report(NamedTuple):
    """What became of one leased job. No answer: it was parked, and tries to die again."""

    job_id: str
    token: str
    consumer_key: int
    answer: Answered | Failure | None
    actor: str = BROKER
    rejected: bool = False
    retry_at: datetime | None = None


@dataclass(slots=True)
class Finished:
    """What was really written: how each failure ended, and how many answers came too late to change anything."""

    delivered: int = 0
    late: int = 0
    results: dict[str, str] = field(default_factory=dict)
    deaths: dict[str, str] = field(default_factory=dict)
    discarded: list[str] = field(default_factory=list)
    paused: list[int] = field(default_factory=list)


def finish_all(
    parts: Parts,
    reports: Sequence[Report],
    exact: bool = False,
    ended: Sequence[str] = (),
    perhaps_ended: Sequence[str] = (),
) -> Finished:
    """Write all reports in one transaction, and remove the leases that end with them, or perhaps do.

    `exact` tells late answers apart one by one. A commit whose answer was lost is tried again: what is written already
    no longer carries its token.
    """

    def work(connection: Connection, may_move: bool) -> Finished:
        held = leases.held(connection, perhaps_ended)
        done = finish(parts, connection, reports, exact, may_move)
        empty = [one.token for one in held if not leases.still_in(connection, one)]
        leases.remove(connection, [*ended, *empty])
        return done

    def attempt(may_move: bool) -> Finished:
        return parts.database.write("finish", lambda c: work(c, may_move), repeatable=True)

    done = moving(parts, attempt)
    tally_deaths(parts.tally, done.deaths.values(), done.discarded)
    return done


def finish(
    parts: Parts, connection: Connection, reports: Sequence[Report], exact: bool = False, may_move: bool = True
) -> Finished:
    """The same within a transaction that is open. Failures first: they may lock summary rows, which go before jobs."""
    done, time = Finished(), SqlTime(connection)
    good: list[Report] = []
    answered: list[Report] = []
    failed: list[Report] = []
    for report in reports:
        answer = report.answer
        (failed if not isinstance(answer, Answered) else good if answer.outcome is Outcome.OK else answered).append(
            report
        )
    if failed:
        _fail(parts, connection, time, failed, done, may_move)
    if answered:
        _tell(parts, connection, time, _deliver(connection, time, _still_held(connection, answered, done), done))
    if good:
        _deliver(connection, time, _still_held(connection, good, done) if exact else good, done)
    return done


def _still_held(connection: Connection, reports: Sequence[Report], done: Finished) -> Sequence[Report]:
    held = _locked(connection, reports)
    done.results |= {r.job_id: DELIVERED if r.job_id in held else LATE for r in reports}
    done.late += len(reports) - len(held)
    return [report for report in reports if report.job_id in held]


def _deliver(connection: Connection, time: SqlTime, reports: Sequence[Report], done: Finished) -> Sequence[Report]:
    answers: dict[Outcome, dict[str, list[str]]] = {}
    for report in reports:
        answers.setdefault(report.answer.outcome, {}).setdefault(report.token, []).append(report.job_id)  # type: ignore[union-attr]
    written = sum(store.deliver(connection, time, held, outcome) for outcome, held in answers.items())
    done.delivered += written
    done.late += len(reports) - written
    return reports


def _tell(parts: Parts, connection: Connection, time: SqlTime, reports: Sequence[Report]) -> None:
    """The consumer took the job and says that its work went wrong: one line of history, nothing more."""
    events = [
        store.Event(r.job_id, parts.ids.new(), "answered-failed", r.actor, detail=r.answer.text)  # type: ignore[union-attr]
        for r in reports
    ]
    store.insert_events(connection, time.moment, events)


def _fail(
    parts: Parts, connection: Connection, time: SqlTime, reports: Sequence[Report], done: Finished, may_move: bool
) -> None:
    settling = Settling(parts, connection, time, {r.consumer_key for r in reports}, may_move)
    held = _locked(connection, reports)
    cases = [
        Case(held[r.job_id], r.answer, r.actor, r.rejected, r.retry_at)  # type: ignore[arg-type]
        for r in reports
        if r.job_id in held
    ]
    settling.settle(cases)
    done.late += len(reports) - len(cases)
    done.results |= {r.job_id: LATE for r in reports if r.job_id not in held} | settling.results
    done.deaths, done.discarded, done.paused = settling.deaths, settling.discarded, settling.paused


def _locked(connection: Connection, reports: Sequence[Report]) -> dict[str, store.Held]:
    """Those that still are their consumer's, under the token of their report."""
    found = store.lock_held(connection, {r.job_id: r.token for r in reports})
    owners = {r.job_id: r.consumer_key for r in reports}
    return {one.id: one for one in found if one.consumer_key == owners[one.id]}
