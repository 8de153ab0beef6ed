"""What is imported is taken as it is meant, or refused with the fields at fault; nothing else can happen."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.import_parsing import parse_import
from broker.domain.importing import ImportedJob
from broker.domain.states import DeadReason

NAMES = ("payload", "payloadEncoding", "contentType", "priority", "expiresAt", "headers", "metadata", "hopCount",
         "overrides", "sourceJobId", "origin", "state", "deadReason", "error", "history", "odd")  # fmt: skip
INNER = ("channelId", "errorType", "errorText", "failedAt", "retryCount", "at", "event", "actor", "category", "type")
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=30),
    st.sampled_from(["dead", "queued", "MAX_HOPS", "NETWORK", "base64", "2020-01-02T03:04:05Z", "abc", "failed"]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner), max_leaves=6
)


@given(raw=st.dictionaries(st.sampled_from(NAMES), VALUES) | VALUES)
@example({"origin": {"retryCount": 1.5}, "sourceJobId": "a"})
@example({"history": [{"at": "2020-01-02T03:04:05Z", "event": "failed", "actor": "\x00"}]})
def test_anything_is_taken_or_refused_by_the_names_of_its_fields(raw: Any) -> None:
    try:
        taken = parse_import(raw)
    except Invalid as refusal:
        assert refusal.problems
        assert {problem.field.split(".")[0].split("[")[0] for problem in refusal.problems} <= {"job", *NAMES, *INNER}
    else:
        assert isinstance(taken, ImportedJob)
        assert (taken.dead_reason is None) == (raw.get("state") in (None, "queued"))


def test_every_field_at_fault_is_named_at_once() -> None:
    raw = {"payload": "?", "payloadEncoding": "base64", "priority": "high", "sourceJobId": "", "state": "odd"}
    with pytest.raises(Invalid) as refused:
        parse_import(raw)
    assert {problem.field for problem in refused.value.problems} == {"payload", "priority", "sourceJobId", "state"}


def test_null_is_as_good_as_not_given() -> None:
    assert parse_import(dict.fromkeys(NAMES[2:-1])) == parse_import({})


def test_a_source_that_is_missing_is_named_once() -> None:
    with pytest.raises(Invalid) as refused:
        parse_import({"sourceJobId": 7, "origin": {}})
    assert refused.value.problems == [FieldProblem("sourceJobId", "must be 1 to 20 letters, digits, - or _")]


def test_an_error_may_be_its_text_alone() -> None:
    taken = parse_import({"state": "dead", "deadReason": "REJECTED", "error": "boom"})
    assert taken.dead_reason is DeadReason.REJECTED
    assert taken.failure is not None and (taken.failure.type, taken.failure.text) == ("CLIENT_ERROR", "boom")
