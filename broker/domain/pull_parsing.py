"""What pull clients send, checked field by field; every field at fault is named."""

from collections.abc import Callable, Mapping

from broker.domain import pull_fields as field
from broker.domain.errors import FieldProblem, Invalid
from broker.domain.failures import Category, Failure, Outcome
from broker.domain.pull_reader import Reader
from broker.domain.pulling import CLIENT, MOST_JOBS, Answer, LeaseWish, Step

_STEP = {"nextstate": "NextState", "incrementaltimeout": "IncrementalTimeout"}
Complete = Callable[[Reader, Answer], Answer]


def parse_step(raw: Mapping[str, object]) -> Step:
    """`NextState` and `IncrementalTimeout`, their names in any case."""
    reader = Reader({_STEP.get(name.lower(), name): value for name, value in raw.items()}, set(_STEP.values()))
    status = reader.take("NextState", field.next_state, None)
    more = reader.take("IncrementalTimeout", field.more_seconds, 0)
    reader.require("NextState", status, f"must be one of {', '.join(field.STEPS)}")
    reader.check()
    return Step(status, more)


def parse_lease(raw: Mapping[str, object]) -> LeaseWish:
    """A wish."""
    reader = Reader(raw, {"clientId", "limit", "lease", "wait"})
    wish = LeaseWish(
        client_id=reader.take("clientId", field.client_id, CLIENT),
        limit=reader.take("limit", field.limit, 1),
        seconds=reader.take("lease", field.lease, None),
        wait=reader.take("wait", field.wait, 0.0),
    )
    reader.check()
    return wish


def parse_completed(raw: Mapping[str, object]) -> list[Answer]:
    """Jobs that are done; `result: failed` when the work itself went wrong."""
    return _parse_jobs(Reader(raw, {"jobs", "leaseToken"}), {"id", "leaseToken", "result"}, _completed)


def parse_retried(raw: Mapping[str, object]) -> list[Answer]:
    """Jobs that are to be tried again, at a time or by policy, or that are dead."""
    reader = Reader(raw, {"jobs", "leaseToken"})
    return _parse_jobs(reader, {"id", "leaseToken", "retryAt", "dead", "error"}, _retried)


def parse_extension(raw: Mapping[str, object]) -> tuple[list[Answer], float | None]:
    """Jobs whose leases are to last longer."""
    reader = Reader(raw, {"jobs", "leaseToken", "lease"})
    seconds: float | None = reader.take("lease", field.lease, None)
    return _parse_jobs(reader, {"id", "leaseToken"}, lambda _, answer: answer), seconds


def _parse_jobs(reader: Reader, known: set[str], complete: Complete) -> list[Answer]:
    """`leaseToken` beside the list holds for every job that has none of its own."""
    shared: str | None = reader.take("leaseToken", field.xid, None)
    listed = reader.raw.get("jobs")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_JOBS:
        raise Invalid([*reader.problems, FieldProblem("jobs", f"must be a list of 1 to {MOST_JOBS} jobs")])
    answers = [_parse_job(one, f"jobs[{at}]", shared, known, complete, reader) for at, one in enumerate(listed)]
    reader.check()
    if len({answer.job_id for answer in answers}) < len(answers):
        raise Invalid.field("jobs", "names a job twice")
    return answers


def _parse_job(
    raw: object, name: str, shared: str | None, known: set[str], complete: Complete, whole: Reader
) -> Answer:
    fields = {"id": raw} if isinstance(raw, str) else raw
    if not isinstance(fields, dict):
        whole.problems.append(FieldProblem(name, "must be an object, or the id of a job"))
        return Answer("", "")
    reader = Reader(fields, known, f"{name}.")
    found = Answer(reader.take("id", field.xid, ""), reader.take("leaseToken", field.xid, shared or ""))
    reader.require("id", found.job_id, "is missing")
    reader.require("leaseToken", found.token, "is missing: give it here or beside the list")
    answer = complete(reader, found)
    whole.problems += reader.problems
    return answer


def _completed(reader: Reader, answer: Answer) -> Answer:
    return answer._replace(outcome=reader.take("result", field.outcome, Outcome.OK))


def _retried(reader: Reader, answer: Answer) -> Answer:
    dead = reader.take("dead", field.flag, False)
    kind, category = ("REJECTED", Category.PERMANENT) if dead else ("CLIENT_RETRY", Category.TRANSIENT)
    failure = reader.take("error", field.failure, None) or Failure(kind, category, "The client gave no reason.")
    return answer._replace(failure=failure, rejected=dead, retry_at=reader.take("retryAt", field.time, None))
