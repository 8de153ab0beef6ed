"""What becomes of a dying job: strategy, then mode, then room."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.dead_letters import DeadRules, Fate, fate_of, is_kept, to_archive
from broker.domain.failures import Category
from broker.domain.states import DeadReason

STRATEGIES = ("automatic", "selective", "manual", "disabled")
MODES = ("retain", "move", "discard")
FULL_POLICIES = ("alert", "reject", "archive_oldest")
CATEGORIES = (*Category, None)
HOPELESS = {"PERMISSION", "VALIDATION", "PERMANENT"}
ASKED_FOR = {"REJECTED", "FORCED"}
DEATHS = list(product(STRATEGIES, MODES, DeadReason, CATEGORIES))


def expected(strategy: str, mode: str, reason: str, category: str | None) -> str:
    """The table of PRODUCT.md, written down a second time."""
    kept = {
        "automatic": True,
        "selective": reason in ASKED_FOR or category not in HOPELESS,
        "manual": reason in ASKED_FOR,
        "disabled": False,
    }
    return mode if kept[strategy] else "discard"


@pytest.mark.parametrize(("strategy", "mode"), list(product(STRATEGIES, MODES)))
def test_strategy_decides_whether_and_mode_decides_where(strategy: str, mode: str) -> None:
    for reason, category in product(DeadReason, CATEGORIES):
        rules = DeadRules(strategy=strategy, mode=mode)
        assert fate_of(rules, reason, category) == expected(strategy, mode, reason, category), (reason, category)


def test_by_default_nothing_is_ever_lost() -> None:
    for reason, category, dead in product(DeadReason, CATEGORIES, (0, 9_999, 10_000, 10**9)):
        assert fate_of(DeadRules(), reason, category, dead) is Fate.RETAIN
        assert to_archive(DeadRules(), dead) == 0


@pytest.mark.parametrize(("strategy", "mode", "reason", "category"), DEATHS[::7])
def test_without_a_dead_letter_queue_everything_is_discarded(
    strategy: str, mode: str, reason: DeadReason, category: Category | None
) -> None:
    rules = DeadRules(enabled=False, strategy=strategy, mode=mode)
    assert not is_kept(rules, reason, category)
    assert fate_of(rules, reason, category) is Fate.DISCARD


# full policy, largest size, dead before this death: is it parked? how many of the oldest go when it is kept?
ROOM: list[tuple[str, int, int, bool, int]] = [
    ("alert", 10, 10, False, 0),
    ("alert", 10, 99, False, 0),
    ("reject", 10, 0, False, 0),
    ("reject", 10, 9, False, 0),
    ("reject", 10, 10, True, 0),
    ("reject", 10, 11, True, 0),
    ("reject", 0, 10**9, False, 0),
    ("archive_oldest", 10, 9, False, 0),
    ("archive_oldest", 10, 10, False, 1),
    ("archive_oldest", 10, 12, False, 3),
    ("archive_oldest", 0, 10**9, False, 0),
]


@pytest.mark.parametrize(("policy", "size", "dead", "parked", "archived"), ROOM)
def test_a_full_queue_parks_or_makes_room_by_policy(
    policy: str, size: int, dead: int, parked: bool, archived: int
) -> None:
    rules = DeadRules(max_size=size, full_policy=policy)
    for reason in DeadReason:
        fate = fate_of(rules, reason, Category.TRANSIENT, dead)
        assert fate is (Fate.PARK if parked else Fate.RETAIN)
    assert to_archive(rules, dead + 1) == archived


def test_what_does_not_stay_here_needs_no_room() -> None:
    for mode, policy in product(("move", "discard"), FULL_POLICIES):
        rules = DeadRules(mode=mode, max_size=1, full_policy=policy)
        assert not rules.counts_room
        assert fate_of(rules, DeadReason.EXPIRED, None, 5) == mode
        assert to_archive(rules, 5) == 0


def test_what_is_not_kept_is_not_parked() -> None:
    rules = DeadRules(strategy="disabled", max_size=1, full_policy="reject")
    assert fate_of(rules, DeadReason.RETRIES_EXHAUSTED, Category.NETWORK, 5) is Fate.DISCARD


RULES = st.builds(
    DeadRules,
    enabled=st.booleans(),
    strategy=st.sampled_from(STRATEGIES),
    mode=st.sampled_from(MODES),
    max_size=st.integers(0, 5),
    full_policy=st.sampled_from(FULL_POLICIES),
)


@given(RULES, st.sampled_from(DeadReason), st.sampled_from(CATEGORIES), st.integers(0, 10))
def test_the_count_of_the_dead_matters_only_where_the_rules_say_so(
    rules: DeadRules, reason: DeadReason, category: Category | None, dead: int
) -> None:
    if not rules.counts_room:
        assert fate_of(rules, reason, category, dead) is fate_of(rules, reason, category)
        assert to_archive(rules, dead) == 0


@given(RULES, st.sampled_from(DeadReason), st.sampled_from(CATEGORIES))
def test_dead_jobs_never_grow_beyond_a_limit_that_is_enforced(
    rules: DeadRules, reason: DeadReason, category: Category | None
) -> None:
    dead = 0
    for _ in range(12):
        dead += fate_of(rules, reason, category, dead) is Fate.RETAIN
        dead -= to_archive(rules, dead)
    assert dead <= rules.max_size or not rules.counts_room
