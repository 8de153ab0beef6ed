"""What a replay is asked for, and which dead letters meet it."""

from datetime import UTC, datetime, timedelta

import pytest

from broker.domain.dead_selection import DeadFilter
from broker.domain.errors import Invalid
from broker.domain.failures import Category
from broker.domain.fingerprints import fingerprint
from broker.domain.replay import DeadLetter, Place, Replay, parse_replay

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
LETTER = DeadLetter(NOW, "HTTP_503", "host 10.0.0.1 is busy", "TRANSIENT")
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("wanted", "meets"),
    [
        (DeadFilter(), True),
        (DeadFilter(died_after=NOW), True),
        (DeadFilter(died_after=NOW + SECOND), False),
        (DeadFilter(died_before=NOW), True),
        (DeadFilter(died_before=NOW - SECOND), False),
        (DeadFilter(category=Category.TRANSIENT), True),
        (DeadFilter(category=Category.NETWORK), False),
        (DeadFilter(fingerprint=fingerprint("HTTP_503", "host 10.9.9.9 is busy")), True),
        (DeadFilter(fingerprint=fingerprint("HTTP_500", "host 10.0.0.1 is busy")), False),
        (DeadFilter(category=Category.TRANSIENT, died_after=NOW + SECOND), False),
    ],
)
def test_a_dead_letter_must_meet_all_conditions(wanted: DeadFilter, meets: bool) -> None:
    assert LETTER.meets(wanted) is meets


def test_without_a_known_category_it_meets_none() -> None:
    assert not LETTER._replace(category=None).meets(DeadFilter(category=Category.TRANSIENT))


def test_everything_is_read() -> None:
    given = {"channel": "c", "limit": 5.0, "since": "2030-01-31T12:00:00Z", "category": "TRANSIENT", "dryRun": True,
             "target": "a/b", "until": None, "fingerprint": None}  # fmt: skip
    wanted = DeadFilter(category=Category.TRANSIENT, died_after=NOW)
    assert parse_replay(given) == Replay(wanted, "c", 5, Place("a", "b"), True)
    assert parse_replay({"target": {"channelId": "a", "consumerId": "b"}}).target == Place("a", "b")
    assert parse_replay({}) == Replay(DeadFilter())


def test_all_that_is_wrong_is_named_at_once() -> None:
    bad = {
        "limit": float("inf"),
        "since": "x",
        "until": "",
        "category": "x",
        "target": [],
        "dryRun": 1,
        "diedAfter": "x",
    }
    with pytest.raises(Invalid) as refusal:
        parse_replay(bad)
    assert sorted(one.field for one in refusal.value.problems) == sorted(bad)
