"""What an operator may do to jobs by hand, and to which of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.states import JobStatus

MOST_JOBS = 1000
SHORTEST_PREFIX, XID_LENGTH = 8, 20
_PREFIX = re.compile(r"[0-9a-v]+")
_RULE = f"must be a job's id, or its first {SHORTEST_PREFIX} characters or more, of 0-9 and a-v"


@dataclass(frozen=True, slots=True)
class Act:
    """Which jobs it takes, what they become (None: they are gone), and how their history calls it."""

    name: str
    past: str
    sources: frozenset[JobStatus]
    target: JobStatus | None
    event: str = ""


RETRY = Act("retry", "requeued", frozenset({JobStatus.DEAD}), JobStatus.QUEUED, "requeued")
FAIL = Act("fail", "failed", frozenset({JobStatus.QUEUED, JobStatus.INFLIGHT}), JobStatus.DEAD, "failed")
DONE = Act("done", "done", frozenset({*FAIL.sources, JobStatus.DEAD}), JobStatus.DELIVERED, "done")
DROP = Act("drop", "dropped", frozenset(JobStatus), None)
ACTS: Mapping[str, Act] = {act.name: act for act in (RETRY, FAIL, DONE, DROP)}


@dataclass(frozen=True, slots=True)
class ActRequest:
    """An act on several jobs, each by its id or the unique start of it."""

    act: Act
    jobs: tuple[str, ...]
    actor: str
    force: bool = False


def why_not(act: Act, status: JobStatus, leased: bool, force: bool, has_failed: bool = False) -> str | None:
    """Why an act passes over a job in this status; None when it does not. One that waits after a failure need not."""
    if act is RETRY and status is JobStatus.QUEUED and has_failed:
        return None
    if act is DROP and status is JobStatus.INFLIGHT and leased and not force:
        return "it is inflight and its lease has not ended; force drops it all the same"
    return None if status in act.sources else f"it is {status.name.lower()}"


def parse_act(act: Act, raw: Mapping[str, object], actor: str) -> ActRequest:
    """An act as the API takes it; every field at fault is named."""
    problems = [FieldProblem(name, "is not known") for name in raw if name not in ("jobs", "force")]
    jobs, force = raw.get("jobs"), raw.get("force", False)
    if not isinstance(jobs, list) or not 1 <= len(jobs) <= MOST_JOBS:
        problems.append(FieldProblem("jobs", f"must be a list of 1 to {MOST_JOBS} ids"))
    else:
        problems += [FieldProblem(f"jobs[{at}]", _RULE) for at, one in enumerate(jobs) if not _is_prefix(one)][:20]
    if not isinstance(force, bool):
        problems.append(FieldProblem("force", "must be true or false"))
    if problems:
        raise Invalid(problems)
    return ActRequest(act, tuple(jobs or ()), actor, bool(force))  # type: ignore[arg-type]


def check_prefix(field: str, text: str) -> str:
    """A job's id, or enough of its start."""
    if not _is_prefix(text):
        raise Invalid.field(field, _RULE)
    return text


def _is_prefix(text: object) -> bool:
    if not isinstance(text, str) or not SHORTEST_PREFIX <= len(text) <= XID_LENGTH:
        return False
    return _PREFIX.fullmatch(text) is not None
