"""How long a job waits before its next retry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from broker.domain.failures import Category

EXPONENTIAL_BASE, EXPONENTIAL_CAP = 60.0, 3600.0
LINEAR_BASE, FIXED_BASE = 300.0, 0.0
NEVER = "never"
UNLIMITED = -1
LONGEST_DELAY = 3_650 * 86_400.0
_DOUBLINGS = 60
_AUTO: Mapping[Category, str] = {
    Category.TRANSIENT: "exponential",
    Category.NETWORK: "exponential",
    Category.RESOURCE: "linear",
}


@dataclass(frozen=True, slots=True)
class RetryRules:
    """The retry settings that apply to a job at the moment of its failure."""

    policy: str = "auto"
    max_retries: int = 3
    base: float | None = None
    cap: float | None = None
    schedule: Sequence[float] = (5.0, 30.0, 60.0)
    jitter: float = 0.0


def effective_policy(policy: str, category: Category) -> str:
    """What `auto` means for this category; any other policy is itself."""
    return _AUTO.get(category, NEVER) if policy == "auto" else policy


def delay_before_retry(rules: RetryRules, category: Category, retries_made: int, chance: float = 0.0) -> float | None:
    """Seconds to wait after so many retries; None for never. `chance` from 0 to 1 decides the jitter."""
    policy = effective_policy(rules.policy, category)
    if policy == NEVER:
        return None
    delay = _DELAYS[policy](rules, retries_made)
    capped = min(delay, rules.cap) if rules.cap is not None else delay
    return min(capped * (1 + rules.jitter * chance), LONGEST_DELAY)


def _exponential(rules: RetryRules, made: int) -> float:
    base = EXPONENTIAL_BASE if rules.base is None else rules.base
    return min(base * 2.0 ** min(made, _DOUBLINGS), EXPONENTIAL_CAP if rules.cap is None else rules.cap)


def _linear(rules: RetryRules, made: int) -> float:
    return (LINEAR_BASE if rules.base is None else rules.base) * (made + 1)


def _fixed(rules: RetryRules, made: int) -> float:
    return FIXED_BASE if rules.base is None else rules.base


def _immediate(rules: RetryRules, made: int) -> float:
    return 0.0


def _schedule(rules: RetryRules, made: int) -> float:
    """The list, then multiples of its last: twice, three times, …"""
    listed = len(rules.schedule)
    if made < listed:
        return rules.schedule[made]
    return rules.schedule[-1] * (made - listed + 2) if listed else 0.0


_DELAYS: Mapping[str, Callable[[RetryRules, int], float]] = {
    "exponential": _exponential,
    "linear": _linear,
    "fixed": _fixed,
    "immediate": _immediate,
    "schedule": _schedule,
}
