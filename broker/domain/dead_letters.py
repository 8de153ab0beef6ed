"""What becomes of a job that dies: kept, moved, discarded, or parked because there is no room."""

from dataclasses import dataclass
from enum import StrEnum

from broker.domain.failures import NEVER_RETRIED, Category
from broker.domain.states import DeadReason

ON_REQUEST = frozenset({DeadReason.REJECTED, DeadReason.FORCED})


class Fate(StrEnum):
    """Where a dying job goes."""

    RETAIN = "retain"
    MOVE = "move"
    DISCARD = "discard"
    PARK = "park"


@dataclass(frozen=True, slots=True)
class DeadRules:
    """The dead-letter settings that apply to a job at the moment of its death."""

    enabled: bool = True
    strategy: str = "automatic"
    mode: str = "retain"
    max_size: int = 10_000
    full_policy: str = "alert"

    @property
    def counts_room(self) -> bool:
        """Whether it matters how many are dead already."""
        limited = self.mode == Fate.RETAIN and self.max_size > 0
        return limited and self.full_policy in ("reject", "archive_oldest")


def is_kept(rules: DeadRules, reason: DeadReason, category: Category | None) -> bool:
    """Whether the strategy keeps this death at all."""
    if not rules.enabled or rules.strategy == "disabled":
        return False
    if rules.strategy == "manual":
        return reason in ON_REQUEST
    return rules.strategy != "selective" or reason in ON_REQUEST or category not in NEVER_RETRIED


def fate_of(rules: DeadRules, reason: DeadReason, category: Category | None, dead_count: int = 0) -> Fate:
    """Where it goes; `dead_count` is how many of its consumer are dead, and matters for full policies only."""
    if not is_kept(rules, reason, category):
        return Fate.DISCARD
    if rules.full_policy == "reject" and rules.counts_room and dead_count >= rules.max_size:
        return Fate.PARK
    return Fate(rules.mode)


def to_archive(rules: DeadRules, dead_count: int) -> int:
    """How many of the oldest must make room when this many are dead, the newest included."""
    if rules.full_policy != "archive_oldest" or not rules.counts_room:
        return 0
    return max(0, dead_count - rules.max_size)
