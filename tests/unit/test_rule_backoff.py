"""How long a job waits: the formulas of PRODUCT.md section 6, exact without jitter."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.backoff import LONGEST_DELAY, NEVER, RetryRules, delay_before_retry, effective_policy
from broker.domain.failures import Category

ANY = Category.TRANSIENT
# rules, and the delays before retries 1, 2, 3, …
TABLE: list[tuple[RetryRules, list[float]]] = [
    (RetryRules("exponential"), [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]),
    (RetryRules("exponential", base=1.0), [1, 2, 4, 8]),
    (RetryRules("exponential", base=0.5, cap=3.0), [0.5, 1, 2, 3, 3]),
    (RetryRules("exponential", base=7200.0), [3600, 3600]),
    (RetryRules("exponential", base=7200.0, cap=604_800.0), [7200, 14_400, 28_800]),
    (RetryRules("exponential", cap=10.0), [10, 10]),
    (RetryRules("linear"), [300, 600, 900, 1200]),
    (RetryRules("linear", base=2.5), [2.5, 5, 7.5, 10]),
    (RetryRules("linear", cap=700.0), [300, 600, 700, 700]),
    (RetryRules("linear", base=604_800.0), [604_800, 1_209_600, 1_814_400, 2_419_200, 3_024_000]),
    (RetryRules("fixed"), [0, 0, 0]),
    (RetryRules("fixed", base=30.0), [30, 30, 30]),
    (RetryRules("fixed", base=30.0, cap=20.0), [20, 20]),
    (RetryRules("immediate"), [0, 0, 0]),
    (RetryRules("immediate", base=60.0, cap=60.0), [0, 0, 0]),
    (RetryRules("schedule"), [5, 30, 60, 120, 180, 240]),
    (RetryRules("schedule", schedule=(1.0,)), [1, 2, 3, 4]),
    (RetryRules("schedule", schedule=(10.0, 0.0)), [10, 0, 0, 0]),
    (RetryRules("schedule", schedule=(9.0, 1.0), base=50.0), [9, 1, 2, 3]),
    (RetryRules("schedule", cap=100.0), [5, 30, 60, 100, 100]),
]
AUTO = {
    "TRANSIENT": "exponential",
    "NETWORK": "exponential",
    "RESOURCE": "linear",
    "PERMISSION": "never",
    "VALIDATION": "never",
    "PERMANENT": "never",
}
POLICIES = ("auto", "exponential", "linear", "fixed", "immediate", "schedule", "never")


@pytest.mark.parametrize(("rules", "delays"), TABLE, ids=range(len(TABLE)))
def test_each_policy_has_its_formula(rules: RetryRules, delays: list[float]) -> None:
    assert [delay_before_retry(rules, ANY, made) for made in range(len(delays))] == delays
    for category in Category:
        assert delay_before_retry(rules, category, 0) == delays[0]


@pytest.mark.parametrize(("category", "policy"), AUTO.items())
def test_auto_goes_by_the_category(category: str, policy: str) -> None:
    rules = RetryRules("auto", base=7.0, cap=50.0)
    assert effective_policy("auto", Category(category)) == policy
    for made in range(5):
        expected = delay_before_retry(RetryRules(policy, base=7.0, cap=50.0), ANY, made)
        assert delay_before_retry(rules, Category(category), made) == expected


def test_auto_is_the_default_and_knows_every_category() -> None:
    assert RetryRules().policy == "auto"
    assert RetryRules() == RetryRules("auto", 3, None, None, (5, 30, 60), 0)
    assert set(AUTO) == {one.value for one in Category}


@pytest.mark.parametrize(("policy", "category"), list(product(POLICIES[1:], Category)))
def test_any_other_policy_is_itself_for_every_category(policy: str, category: Category) -> None:
    assert effective_policy(policy, category) == policy
    assert (delay_before_retry(RetryRules(policy), category, 0) is None) is (policy == NEVER)


RULES = st.builds(
    RetryRules,
    policy=st.sampled_from(POLICIES),
    base=st.none() | st.floats(0, 604_800),
    cap=st.none() | st.floats(1, 2_592_000),
    schedule=st.lists(st.floats(0, 604_800), max_size=50),
    jitter=st.floats(0, 1),
)
COUNTS = st.integers(0, 200) | st.integers(0, 2**63)


@given(RULES, st.sampled_from(Category), COUNTS, st.floats(0, 1))
def test_a_delay_is_never_negative_and_never_beyond_measure(
    rules: RetryRules, category: Category, made: int, chance: float
) -> None:
    delay = delay_before_retry(rules, category, made, chance)
    assert (delay is None) is (effective_policy(rules.policy, category) == NEVER)
    assert delay is None or 0 <= delay <= LONGEST_DELAY
    if delay is not None and rules.cap is not None:
        assert delay <= rules.cap * (1 + rules.jitter) * 1.000001


@given(RULES, COUNTS, st.floats(0, 1))
def test_jitter_adds_at_most_its_share(rules: RetryRules, made: int, chance: float) -> None:
    exact = delay_before_retry(rules, ANY, made)
    jittered = delay_before_retry(rules, ANY, made, chance)
    if exact is None or jittered is None:
        assert exact is jittered
    else:
        assert exact <= jittered <= exact * (1 + rules.jitter) * 1.000001


@given(st.sampled_from(POLICIES), COUNTS, st.floats(0, 1))
def test_without_jitter_chance_changes_nothing(policy: str, made: int, chance: float) -> None:
    assert delay_before_retry(RetryRules(policy), ANY, made, chance) == delay_before_retry(
        RetryRules(policy), ANY, made
    )


def test_full_jitter_doubles_at_most_and_half_of_it_adds_a_quarter() -> None:
    assert delay_before_retry(RetryRules("fixed", base=40.0, jitter=1.0), ANY, 0, 1.0) == 80
    assert delay_before_retry(RetryRules("fixed", base=40.0, jitter=0.5), ANY, 0, 0.5) == 50


@given(st.sampled_from(["exponential", "linear", "fixed", "immediate"]), st.integers(0, 10_000))
def test_a_later_retry_never_waits_less(policy: str, made: int) -> None:
    sooner, later = (delay_before_retry(RetryRules(policy), ANY, made + more) for more in (0, 1))
    assert sooner is not None and later is not None and sooner <= later
