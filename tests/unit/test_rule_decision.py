"""The one decision, and the sum of many: a job that always fails is delivered exactly maxRetries + 1 times."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.backoff import RetryRules
from broker.domain.dead_letters import DeadRules, Fate
from broker.domain.decision import Decision, Deliver, Die, Retry, Standing, decide
from broker.domain.failures import LEASE_EXPIRED, OK, Answered, Category, Failure, Outcome
from broker.domain.states import DeadReason

DEAD = DeadRules()
RETRIED = ("exponential", "linear", "fixed", "immediate", "schedule")
POLICIES = ("auto", *RETRIED, "never")
RULES = st.builds(RetryRules, policy=st.sampled_from(POLICIES), max_retries=st.integers(-1, 100))


def failure(category: Category = Category.TRANSIENT, retry_after: float | None = None) -> Failure:
    return Failure("TEST", category, "it failed", retry_after)


def after(retry: RetryRules, made: int, answer: Failure | None = None, **standing: bool) -> Decision:
    return decide(answer or failure(), retry, DEAD, Standing(made, **standing))


def deliveries(retry: RetryRules, category: Category, most: int = 1000) -> tuple[int, Decision]:
    """How often a job that always fails is delivered, and how it ends."""
    for made in count():
        decision = after(retry, made, failure(category))
        if not isinstance(decision, Retry) or made + 1 == most:
            return made + 1, decision
    raise AssertionError


@pytest.mark.parametrize("policy", ["auto", *RETRIED])
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 10, 100])
def test_a_job_that_always_fails_is_delivered_once_and_then_as_often_as_it_may_be_retried(
    policy: str, limit: int
) -> None:
    times, last = deliveries(RetryRules(policy, limit), Category.TRANSIENT)
    assert times == limit + 1
    assert last == Die(DeadReason.RETRIES_EXHAUSTED, Fate.RETAIN, policy.replace("auto", "exponential"), limit)


@pytest.mark.parametrize("policy", ["auto", *RETRIED])
def test_minus_one_is_unlimited(policy: str) -> None:
    times, last = deliveries(RetryRules(policy, -1), Category.NETWORK)
    assert times == 1000 and isinstance(last, Retry)
    assert isinstance(after(RetryRules(policy, -1), 10**9), Retry)


@pytest.mark.parametrize("limit", [-1, 0, 3])
def test_a_policy_of_never_ends_it_at_once_whatever_the_limit(limit: int) -> None:
    expected = Die(DeadReason.NON_RETRYABLE, Fate.RETAIN, "never", limit)
    for category in Category:
        assert deliveries(RetryRules("never", limit), category) == (1, expected)
    for category in (Category.PERMISSION, Category.VALIDATION, Category.PERMANENT):
        assert deliveries(RetryRules("auto", limit), category) == (1, expected)


@given(RULES.filter(lambda rules: rules.max_retries >= 0), st.data())
def test_no_job_is_ever_delivered_more_often_than_its_limit_plus_one(rules: RetryRules, data: st.DataObject) -> None:
    """Even if every failure is of another kind."""
    made = 0
    while isinstance(after(rules, made, failure(data.draw(st.sampled_from(Category)))), Retry):
        made += 1
        assert made <= rules.max_retries


def test_a_limit_that_was_lowered_meanwhile_applies_at_once() -> None:
    assert isinstance(after(RetryRules("fixed", 10), 5), Retry)
    assert isinstance(after(RetryRules("fixed", 3), 5), Die)


@pytest.mark.parametrize(
    ("retry_after", "delay"), [(None, 60), (0.0, 60), (59.0, 60), (60.0, 60), (61.0, 61), (86_400.0, 86_400)]
)
def test_retry_after_raises_the_delay_and_never_lowers_it(retry_after: float | None, delay: float) -> None:
    decision = after(RetryRules("fixed", 3, base=60.0), 0, failure(retry_after=retry_after))
    assert decision == Retry(delay, "fixed", 3)


@given(RULES, st.integers(0, 200), st.none() | st.floats(0, 86_400), st.floats(0, 1))
def test_retry_after_changes_nothing_but_the_delay(
    rules: RetryRules, made: int, retry_after: float | None, chance: float
) -> None:
    plain = decide(failure(), rules, DEAD, Standing(made), chance)
    asked = decide(failure(retry_after=retry_after), rules, DEAD, Standing(made), chance)
    if isinstance(plain, Retry) and isinstance(asked, Retry):
        assert asked.delay == max(plain.delay, retry_after or 0.0)
    else:
        assert asked == plain


@given(RULES, st.integers(0, 200), st.sampled_from(Category), st.booleans())
def test_what_is_rejected_or_expired_dies_of_that_whatever_the_policy(
    rules: RetryRules, made: int, category: Category, expired: bool
) -> None:
    rejected = after(rules, made, failure(category), rejected=True, expired=expired)
    assert isinstance(rejected, Die) and rejected.reason is DeadReason.REJECTED
    past = after(rules, made, failure(category), expired=True)
    assert isinstance(past, Die) and past.reason is DeadReason.EXPIRED


@given(RULES, st.integers(0, 200), st.booleans(), st.sampled_from(Outcome))
def test_an_answer_delivers_whatever_else_is_true(rules: RetryRules, made: int, expired: bool, how: Outcome) -> None:
    assert decide(Answered(how), rules, DEAD, Standing(made, expired)) == Deliver(how)
    assert decide(OK, rules, DEAD, Standing(made, expired)) == Deliver(Outcome.OK)


@given(st.sampled_from(POLICIES), st.integers(-1, 5), st.integers(0, 6), st.sampled_from(Category))
def test_what_was_applied_is_told_with_the_decision(policy: str, limit: int, made: int, category: Category) -> None:
    decision = after(RetryRules(policy, limit), made, failure(category))
    assert isinstance(decision, Retry | Die)
    assert decision.max_retries == limit
    assert decision.policy in ("exponential", "linear", "never") if policy == "auto" else decision.policy == policy


def test_a_lost_lease_is_retried_like_any_other_failure_of_the_network() -> None:
    assert after(RetryRules(), 0, LEASE_EXPIRED) == Retry(60, "exponential", 3)
    assert after(RetryRules(), 3, LEASE_EXPIRED) == Die(DeadReason.RETRIES_EXHAUSTED, Fate.RETAIN, "exponential", 3)


def test_a_full_queue_that_rejects_parks_the_dying() -> None:
    full = DeadRules(max_size=2, full_policy="reject")
    decision = decide(failure(), RetryRules("never"), full, Standing(dead_count=2))
    assert decision == Die(DeadReason.NON_RETRYABLE, Fate.PARK, "never", 3)
