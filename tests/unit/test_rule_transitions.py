"""Which steps a job may take, written out as a square, and what each state can and cannot do."""

from itertools import product

import pytest

from broker.domain.states import JobStatus
from broker.domain.transitions import TRANSITIONS, may_become, sources_of

STATUSES = list(JobStatus)
# rows: from; columns: to, in the order of JobStatus: QUEUED INFLIGHT DELIVERED DEAD ARCHIVED
SQUARE = {
    JobStatus.QUEUED: ". x x x .",
    JobStatus.INFLIGHT: "x . x x .",
    JobStatus.DELIVERED: ". . . . .",
    JobStatus.DEAD: "x x x . x",
    JobStatus.ARCHIVED: ". . . x .",
}
ALLOWED = {
    (now, then): mark == "x"
    for now, marks in SQUARE.items()
    for then, mark in zip(STATUSES, marks.split(), strict=True)
}


@pytest.mark.parametrize(("now", "then"), list(product(STATUSES, STATUSES)), ids=lambda one: one.name)
def test_a_step_is_allowed_exactly_when_the_square_says_so(now: JobStatus, then: JobStatus) -> None:
    assert may_become(now, then) is ALLOWED[now, then]


def test_the_square_lists_every_pair_once() -> None:
    assert len(ALLOWED) == len(STATUSES) ** 2
    assert sum(ALLOWED.values()) == len(TRANSITIONS)


def test_sources_are_the_column_of_the_square() -> None:
    for then in STATUSES:
        assert sources_of(then) == {now for now in STATUSES if ALLOWED[now, then]}


def test_what_is_delivered_is_finished() -> None:
    assert [then for then in STATUSES if may_become(JobStatus.DELIVERED, then)] == []


def test_no_step_leads_to_where_the_job_is() -> None:
    assert [one for one in STATUSES if may_become(one, one)] == []


def test_only_the_dead_are_archived_and_the_archive_gives_back_to_the_dead_only() -> None:
    assert sources_of(JobStatus.ARCHIVED) == {JobStatus.DEAD}
    assert [then for then in STATUSES if may_become(JobStatus.ARCHIVED, then)] == [JobStatus.DEAD]


def test_every_state_can_be_reached_from_a_new_job() -> None:
    reached, before = {JobStatus.QUEUED}, set[JobStatus]()
    while reached != before:
        before = set(reached)
        reached |= {then for now, then in TRANSITIONS if now in before}
    assert reached == set(STATUSES)
