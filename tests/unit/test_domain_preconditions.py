"""Conditions hold or fail by the state that is really there."""

from datetime import UTC, datetime, timedelta

import pytest

from broker.domain.errors import PreconditionFailed
from broker.domain.preconditions import Preconditions
from broker.domain.registry import etag

AT = datetime(2030, 1, 1, 12, 0, 0, 900_000, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TAG = etag(3, AT)
HOLDS = [
    Preconditions(),
    Preconditions(match=(TAG,)),
    Preconditions(match=('"other"', TAG)),
    Preconditions(match=("*",)),
    Preconditions(unmodified_since=AT.replace(microsecond=0)),
    Preconditions(unmodified_since=AT + SECOND),
    Preconditions(match=(TAG,), unmodified_since=AT),
]
FAILS = [
    Preconditions(match=(etag(2, AT),)),
    Preconditions(match=(etag(3, AT + timedelta(microseconds=1)),)),
    Preconditions(match=(f"W/{TAG}",)),
    Preconditions(match=("r3",)),
    Preconditions(must_be_new=True),
    Preconditions(unmodified_since=AT.replace(microsecond=0) - SECOND),
    Preconditions(match=(TAG,), unmodified_since=AT - SECOND),
    Preconditions(match=('"other"',), unmodified_since=AT + SECOND),
]


@pytest.mark.parametrize("conditions", HOLDS)
def test_a_condition_that_holds_lets_the_change_through(conditions: Preconditions) -> None:
    conditions.check(3, AT)
    assert conditions in HOLDS


@pytest.mark.parametrize("conditions", FAILS)
def test_a_condition_that_fails_says_what_to_do(conditions: Preconditions) -> None:
    with pytest.raises(PreconditionFailed) as refused:
        conditions.check(3, AT)
    assert refused.value.detail.endswith(".")


def test_what_does_not_exist_matches_nothing_but_may_be_made() -> None:
    for conditions in (Preconditions(), Preconditions(must_be_new=True), Preconditions(unmodified_since=AT)):
        conditions.check_absent()
    for tag in ("*", TAG):
        with pytest.raises(PreconditionFailed):
            Preconditions(match=(tag,)).check_absent()


def test_a_tag_is_quoted_and_differs_for_each_state() -> None:
    tags = {etag(revision, AT + micro * timedelta(microseconds=1)) for revision in range(5) for micro in range(5)}
    assert len(tags) == 25
    assert all(tag[0] == tag[-1] == '"' and "," not in tag and " " not in tag for tag in tags)
