"""One job, step by step, as clients of the older wire contract know it: no lease token, the state itself decides."""

from broker.domain.errors import Invalid, NotFound
from broker.domain.failures import OK, Category, Failure
from broker.domain.pulling import CLIENT, Step
from broker.domain.registry import Consumer
from broker.domain.states import JobStatus
from broker.operations.finishing import Finished, Report, finish
from broker.operations.leasing import is_open, lease_seconds
from broker.operations.parts import Parts
from broker.operations.settling import moving
from broker.operations.tally import Happened, tally_deaths
from broker.store import finishing, job_acts, leases, summary
from broker.store.claiming import lease_jobs
from broker.store.engine import Connection
from broker.store.moments import SqlTime

ALLOWED = frozenset(
    {
        (JobStatus.QUEUED, JobStatus.INFLIGHT),
        (JobStatus.INFLIGHT, JobStatus.DELIVERED),
        (JobStatus.INFLIGHT, JobStatus.DEAD),
        (JobStatus.DEAD, JobStatus.INFLIGHT),
    }
)
REQUEUED = "requeued"
REJECTED = Failure("REJECTED", Category.PERMANENT, "The consumer said that the job is dead.")


def take_step(parts: Parts, consumer: Consumer, job_id: str, step: Step) -> None:
    """Bring a job into the next state; the state that it has already is no change, any other step is refused."""

    def attempt(may_move: bool) -> Finished:
        work = lambda connection: _take(parts, connection, consumer, job_id, step, may_move)  # noqa: E731
        return parts.database.write("take step", work, repeatable=True)

    done = moving(parts, attempt)
    tally_deaths(parts.tally, done.deaths.values(), done.discarded)
    if REQUEUED in done.results.values():
        parts.tally.count(Happened.REQUEUED, "pull", 1)


def _take(
    parts: Parts, connection: Connection, consumer: Consumer, job_id: str, step: Step, may_move: bool
) -> Finished:
    """Locks: the summary row, then the job; a job that dies or comes back changes what the summary may count."""
    summary.lock(connection, [consumer.key])
    found = [one for one in job_acts.lock(connection, [job_id]) if one.consumer_key == consumer.key]
    if not found:
        raise NotFound(f"Consumer {consumer.id!r} has no job {job_id!r}.")
    job = found[0]
    if job.status is step.status:
        return Finished()
    if (job.status, step.status) not in ALLOWED:
        raise Invalid.field("NextState", f"a job that is {job.status.name} cannot become {step.status.name}")
    if step.status is JobStatus.INFLIGHT:
        _lease(parts, connection, consumer, job, step)
        return Finished(results={job.id: REQUEUED} if job.status is JobStatus.DEAD else {})
    return _answer(parts, connection, consumer, job, step, may_move)


def _answer(
    parts: Parts, connection: Connection, consumer: Consumer, job: job_acts.Locked, step: Step, may_move: bool
) -> Finished:
    answer = OK if step.status is JobStatus.DELIVERED else REJECTED
    report = Report(job.id, str(job.lease_token), consumer.key, answer, CLIENT, step.status is JobStatus.DEAD)
    done = finish(parts, connection, [report], may_move=may_move)
    _end_lease(connection, str(job.lease_token))
    return done


def _lease(parts: Parts, connection: Connection, consumer: Consumer, job: job_acts.Locked, step: Step) -> None:
    clock = SqlTime(connection)
    if not is_open(connection, consumer):
        raise Invalid.field("NextState", "the consumer or its channel is paused")
    if job.status is JobStatus.DEAD:
        summary.take_back(connection, consumer.key, [job.status_changed_at], summary.Total.REQUEUED)
        finishing.insert_events(
            connection, clock.moment, [finishing.Event(job.id, parts.ids.new(), "requeued", CLIENT)]
        )
        job_acts.become(connection, clock, [job.id], JobStatus.QUEUED)
    elif not job_acts.is_due(connection, clock, job.id):
        raise Invalid.field("NextState", "the job is not due: it waits, has expired, or is about to die")
    seconds = lease_seconds(parts, connection, consumer) + step.more_seconds
    lease_jobs(connection, clock, [job.id], parts.ids.new(), CLIENT, seconds, consumer.key)
    job_acts.remember_timeout(connection, job.id, step.more_seconds)


def _end_lease(connection: Connection, token: str) -> None:
    for one in leases.held(connection, [token]):
        if not leases.still_in(connection, one):
            leases.remove(connection, [token])
