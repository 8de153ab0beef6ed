"""What operators may do to jobs, against the one table of transitions and the picture of it in the documents."""

import re
from pathlib import Path

import pytest

from broker.domain.acts import ACTS, DROP, check_prefix, parse_act, why_not
from broker.domain.errors import Invalid
from broker.domain.states import JobStatus
from broker.domain.transitions import TRANSITIONS

PAGE = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text()


def test_the_documents_draw_the_transitions_that_there_are() -> None:
    drawn = {(JobStatus[now], JobStatus[then]) for now, then in re.findall(r"^    ([A-Z]+) --> ([A-Z]+):", PAGE, re.M)}
    assert drawn == TRANSITIONS


@pytest.mark.parametrize("name", ACTS)
def test_an_act_makes_only_steps_that_there_are(name: str) -> None:
    act = ACTS[name]
    assert act.target is None or {(source, act.target) for source in act.sources} <= TRANSITIONS
    for status in JobStatus:
        reason = why_not(act, status, leased=False, force=False)
        assert reason == (None if status in act.sources else f"it is {status.name.lower()}")


@pytest.mark.parametrize(("leased", "force", "taken"), [(True, False, False), (True, True, True), (False, False, True)])
def test_what_is_leased_is_dropped_only_by_force(leased: bool, force: bool, taken: bool) -> None:
    assert (why_not(DROP, JobStatus.INFLIGHT, leased, force) is None) is taken


@pytest.mark.parametrize(
    "text", ["", "0123456", "0" * 21, "w" * 10, "A" * 10, "12345678\n", "12345678 ", "１２３４５６７８"]
)
def test_what_cannot_start_an_id_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="must be a job's id"):
        check_prefix("jobId", text)
    with pytest.raises(Invalid, match=r"jobs\[0\]"):
        parse_act(DROP, {"jobs": [text]}, "me")


def test_a_request_is_read_whole() -> None:
    wanted = parse_act(DROP, {"jobs": ["01234567", "v" * 20], "force": True}, "me")
    assert (wanted.jobs, wanted.actor, wanted.force) == (("01234567", "v" * 20), "me", True)
