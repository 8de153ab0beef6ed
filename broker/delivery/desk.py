"""Results are gathered here and written in batches; leases end with their last job."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable

from broker.delivery.claims import Batch
from broker.delivery.telemetry import Telemetry
from broker.domain.errors import Unavailable
from broker.operations.finishing import Finished, Report, finish_all
from broker.operations.parts import Parts
from broker.store import leases
from broker.store.engine import Connection
from broker.store.moments import SqlTime

MOST_WAITING = 150
LONGEST_WAIT = 0.01
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
RENEWALS = 3
log = logging.getLogger(__name__)


class Desk:
    """Keeps count of what this process holds; nothing is held only here, for the leases are in the database."""

    def __init__(self, parts: Parts, telemetry: Telemetry) -> None:
        self._parts, self._telemetry = parts, telemetry
        self._left: dict[str, int] = {}
        self._renew_at: dict[str, tuple[float, float]] = {}
        self._reports: list[Report] = []
        self._put_off: list[tuple[str, str]] = []
        self._since = self._not_before = 0.0
        self._pause = FIRST_PAUSE

    @property
    def unwritten(self) -> int:
        """Results that are not in the database yet."""
        return len(self._reports)

    @property
    def leases(self) -> int:
        """Batches with a job that has no result yet."""
        return len(self._left)

    def opened(self, batch: Batch, now: float) -> None:
        """A batch was claimed."""
        self._left[batch.token] = len(batch.jobs)
        self._renew_at[batch.token] = (now + batch.seconds / RENEWALS, batch.seconds)

    def take(self, report: Report, now: float) -> None:
        """A result."""
        if not self._reports:
            self._since = now
        self._reports.append(report)

    def write_due(self, now: float, nothing_else: bool) -> bool:
        """Whether it is time to write: enough of them, long enough, or there is nothing else to do."""
        if not self._reports or now < self._not_before:
            return False
        return nothing_else or len(self._reports) >= MOST_WAITING or now - self._since >= LONGEST_WAIT

    def write(self, now: float) -> bool:
        """Write all results in one transaction. When the database is away they stay; False then."""
        reports, self._reports = self._reports, []
        ended = self._ended(reports)
        try:
            self._tell(finish_all(self._parts, reports, ended=ended))
        except Unavailable:
            self._reports, self._not_before = reports + self._reports, now + self._pause
            self._pause = min(LONGEST_PAUSE, self._pause * 2)
            return False
        except Exception:
            log.exception("a batch of results could not be written; trying one by one")
            self._write_singly(reports)
        self._pause = FIRST_PAUSE
        self._drop(Counter(report.token for report in reports))
        return True

    def put_off(self, token: str, job_id: str) -> None:
        """A job is not to be tried now; it waits for the longest time that the engine sleeps."""
        self._put_off.append((token, job_id))

    def write_put_off(self) -> None:
        """Give back all that was put off."""
        if self._put_off:
            jobs, self._put_off = self._put_off, []
            self.give_back(jobs, self._parts.settings.retry_interval)

    def give_back(self, jobs: Iterable[tuple[str, str]], delay: float = 0.0) -> None:
        """Jobs (token, id) that were not sent wait again, no attempt burnt."""
        groups: dict[str, list[str]] = {}
        for token, job_id in jobs:
            groups.setdefault(token, []).append(job_id)
        if groups:
            self._parts.database.write("give back", lambda c: self._give_back(c, groups, delay), repeatable=True)
            self._drop({token: len(ids) for token, ids in groups.items()})

    def renew(self, now: float) -> None:
        """Leases that have used up a third of their time get it anew."""
        due = [(token, seconds) for token, (at, seconds) in self._renew_at.items() if now >= at]
        for seconds in {seconds for _, seconds in due}:
            tokens = [token for token, theirs in due if theirs == seconds]
            self._parts.database.write("renew leases", _renewal(tokens, seconds), repeatable=True)
            for token in tokens:
                self._renew_at[token] = (now + seconds / RENEWALS, seconds)

    def _give_back(self, connection: Connection, groups: dict[str, list[str]], delay: float) -> None:
        time = SqlTime(connection)
        for token, ids in groups.items():
            leases.give_back(connection, time, token, ids, delay)
        leases.remove(connection, [token for token, ids in groups.items() if self._left.get(token) == len(ids)])

    def _ended(self, reports: list[Report]) -> list[str]:
        counts = Counter(report.token for report in reports)
        return [token for token, count in counts.items() if self._left.get(token) == count]

    def _drop(self, counts: dict[str, int]) -> None:
        for token, count in counts.items():
            self._left[token] = self._left.get(token, count) - count
            if self._left[token] <= 0:
                del self._left[token]
                self._renew_at.pop(token, None)

    def _write_singly(self, reports: list[Report]) -> None:
        """One that cannot be written must not hold up the others; it comes back when its lease ends."""
        for report in reports:
            try:
                self._tell(finish_all(self._parts, [report]))
            except Exception:
                log.exception("the result of job %s could not be written", report.job_id)

    def _tell(self, done: Finished) -> None:
        if done.results:
            self._telemetry.finished(Counter(done.results.values()))
        if done.late:
            self._telemetry.late(done.late)


def _renewal(tokens: list[str], seconds: float) -> Callable[[Connection], None]:
    return lambda connection: leases.renew(connection, SqlTime(connection), tokens, seconds)
