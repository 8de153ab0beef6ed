"""The one decision: what a failure does to a job."""

from dataclasses import dataclass

from broker.domain.backoff import NEVER, UNLIMITED, RetryRules, delay_before_retry, effective_policy
from broker.domain.dead_letters import DeadRules, Fate, fate_of
from broker.domain.failures import Answered, Failure, Outcome
from broker.domain.states import DeadReason


@dataclass(frozen=True, slots=True)
class Standing:
    """How a job stands when its answer comes in; `dead_count` is its consumer's."""

    retries_made: int = 0
    expired: bool = False
    rejected: bool = False
    dead_count: int = 0


@dataclass(frozen=True, slots=True)
class Deliver:
    """It is delivered."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Retry:
    """It waits so many seconds and is tried again; its count goes up."""

    delay: float
    policy: str
    max_retries: int


@dataclass(frozen=True, slots=True)
class Die:
    """It will not be tried again; `fate` says where it goes, PARK that there is no room for it now."""

    reason: DeadReason
    fate: Fate
    policy: str
    max_retries: int


Decision = Deliver | Retry | Die


def decide(
    answer: Answered | Failure, retry: RetryRules, dead: DeadRules, standing: Standing, chance: float = 0.0
) -> Decision:
    """What becomes of a job. Expiry and the consumer's own word come first, then the policy, then the count."""
    if isinstance(answer, Answered):
        return Deliver(answer.outcome)
    return decide_failure(answer, retry, dead, standing, chance)


def decide_failure(
    failure: Failure, retry: RetryRules, dead: DeadRules, standing: Standing, chance: float = 0.0
) -> Retry | Die:
    """The same for what was not answered."""
    policy = effective_policy(retry.policy, failure.category)
    reason = _reason(retry, policy, standing)
    if reason is not None:
        return Die(reason, fate_of(dead, reason, failure.category, standing.dead_count), policy, retry.max_retries)
    delay = delay_before_retry(retry, failure.category, standing.retries_made, chance) or 0.0
    return Retry(max(delay, failure.retry_after or 0.0), policy, retry.max_retries)


def _reason(retry: RetryRules, policy: str, standing: Standing) -> DeadReason | None:
    if standing.rejected:
        return DeadReason.REJECTED
    if standing.expired:
        return DeadReason.EXPIRED
    if policy == NEVER:
        return DeadReason.NON_RETRYABLE
    if retry.max_retries != UNLIMITED and standing.retries_made >= retry.max_retries:
        return DeadReason.RETRIES_EXHAUSTED
    return None
