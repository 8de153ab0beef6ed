"""Pull delivery: a client says of each job that it leased what became of it."""

from collections.abc import Sequence

from broker.domain.errors import NotPull
from broker.domain.failures import Answered
from broker.domain.pulling import CLIENT, Answer
from broker.domain.registry import Consumer
from broker.domain.states import ConsumerType
from broker.operations.finishing import LATE, Report, finish_all
from broker.operations.leasing import lease_seconds
from broker.operations.parts import Parts
from broker.store import leases
from broker.store.engine import Connection
from broker.store.moments import SqlTime

EXTENDED = "extended"


def require_pull(consumer: Consumer) -> Consumer:
    """Pushed jobs are not to be pulled."""
    if consumer.type is not ConsumerType.PULL:
        raise NotPull(f"Consumer {consumer.id!r} gets its jobs pushed. Give it type pull to pull them.")
    return consumer


def answer(parts: Parts, consumer: Consumer, answers: Sequence[Answer]) -> dict[str, str]:
    """Complete, retry or reject leased jobs in one transaction; each has its own result, `late` for an old token."""
    reports = [_report(consumer, one) for one in answers]
    done = finish_all(parts, reports, exact=True, perhaps_ended=sorted({one.token for one in answers}))
    return {one.job_id: done.results.get(one.job_id, LATE) for one in answers}


def extend(parts: Parts, consumer: Consumer, answers: Sequence[Answer], seconds: float | None) -> dict[str, str]:
    """Leases last longer, each with all its jobs; a job that its lease no longer holds is late."""

    def work(connection: Connection) -> dict[str, str]:
        clock = SqlTime(connection)
        lasting = seconds or lease_seconds(parts, connection, consumer)
        held = leases.held(connection, sorted({one.token for one in answers}))
        mine = [one for one in held if one.consumer_key == consumer.key]
        inside = {(one.token, job_id) for one in mine for job_id in leases.still_in(connection, one)}
        good = [one for one in answers if (one.token, one.job_id) in inside]
        if good:
            leases.renew(connection, clock, sorted({one.token for one in good}), lasting)
        return {one.job_id: EXTENDED if (one.token, one.job_id) in inside else LATE for one in answers}

    return parts.database.write("extend leases", work, repeatable=True)


def _report(consumer: Consumer, one: Answer) -> Report:
    what = one.failure if one.outcome is None else Answered(one.outcome)
    return Report(one.job_id, one.token, consumer.key, what, CLIENT, one.rejected, one.retry_at)
