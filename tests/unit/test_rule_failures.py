"""What an answer means: delivered, answered as failed, or a failure of one of six categories."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.failures import (
    LEASE_EXPIRED,
    LONGEST_RETRY_AFTER,
    LONGEST_TEXT,
    NEVER_RETRIED,
    OK,
    Answered,
    Category,
    Failure,
    Outcome,
    category_of_type,
    network_failure,
    parse_retry_after,
    read_answer,
    shortened,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NAMED = {
    **dict.fromkeys((404, 408, 409, 423, 425, 429), "TRANSIENT"),
    **dict.fromkeys((413, 507), "RESOURCE"),
    **dict.fromkeys((401, 403, 407), "PERMISSION"),
    410: "PERMANENT",
}
BY_HUNDRED = {1: "PERMANENT", 3: "PERMANENT", 4: "VALIDATION", 5: "TRANSIENT"}
FAILED = Answered(Outcome.FAILED, "no")


def answer(status: int, body: bytes = b"", reads_body: bool = False, **headers: str) -> Answered | Failure:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_answer(status, named, body, NOW, reads_body)


@pytest.mark.parametrize("status", [one for one in range(100, 600) if one // 100 != 2])
def test_every_status_has_its_category(status: int) -> None:
    found = answer(status, b"why")
    assert isinstance(found, Failure)
    assert found.category == NAMED.get(status, BY_HUNDRED[status // 100])
    assert (found.type, found.text, found.gone) == (f"HTTP_{status}", f"HTTP {status} why", status == 410)


@pytest.mark.parametrize("status", range(200, 300))
def test_every_2xx_is_delivered(status: int) -> None:
    assert answer(status, b"anything") == OK == Answered(Outcome.OK)
    assert answer(status, b"no", x_broker_result="failed") == FAILED


@pytest.mark.parametrize("status", [0, 99, 600, 999])
def test_a_status_that_does_not_exist_is_permanent(status: int) -> None:
    found = answer(status)
    assert isinstance(found, Failure) and found.category is Category.PERMANENT


def test_the_categories_that_are_never_retried() -> None:
    assert {one.value for one in NEVER_RETRIED} == {"PERMISSION", "VALIDATION", "PERMANENT"}


@pytest.mark.parametrize("error_type", ["CONNECT", "DNS", "TLS", "TIMEOUT", "BROKEN", "LEASE_EXPIRED"])
def test_no_answer_is_a_network_failure(error_type: str) -> None:
    assert category_of_type(error_type) is Category.NETWORK
    assert network_failure(error_type, "x") == Failure(error_type, Category.NETWORK, "x")


def test_a_lost_lease_is_a_network_failure_and_what_nothing_matches_is_permanent() -> None:
    assert (LEASE_EXPIRED.type, LEASE_EXPIRED.category) == ("LEASE_EXPIRED", Category.NETWORK)
    assert {category_of_type(one) for one in ("", "connect", "BAD_URL", "X")} == {Category.PERMANENT}


@pytest.mark.parametrize(
    ("value", "failed"),
    [("failed", True), (" Failed ", True), ("FAILED", True), ("ok", False), ("", False), ("failed!", False)],
)
def test_the_result_header_makes_a_2xx_an_answered_failure(value: str, failed: bool) -> None:
    assert (answer(200, b"no", x_broker_result=value) == FAILED) is failed


def test_the_result_header_changes_nothing_of_a_failure() -> None:
    assert isinstance(answer(500, x_broker_result="failed"), Failure)
    assert isinstance(answer(500, x_broker_result="ok"), Failure)


BODIES = [
    (b'{"success": false}', True), (b' {"a": 1, "success" : false} ', True), (b'\xef\xbb\xbf{"success":false}', True),
    (b'{"success": true}', False), (b'{"success": 0}', False), (b'{"success": "false"}', False), (b"{}", False),
    (b'{"success": null}', False), (b'[{"success": false}]', False), (b"false", False), (b"", False), (b"{", False),
    (b'{"data": {"success": false}}', False), (b"\xff\xfe\x00", False), (b"[" * 100_000, False), (b"9" * 5000, False),
]  # fmt: skip


@pytest.mark.parametrize(("body", "failed"), BODIES, ids=range(len(BODIES)))
def test_success_false_is_an_answered_failure_where_the_consumer_opts_in(body: bytes, failed: bool) -> None:
    found = answer(200, body, reads_body=True)
    assert isinstance(found, Answered) and (found.outcome is Outcome.FAILED) is failed
    assert answer(200, body) == OK
    assert isinstance(answer(500, body, reads_body=True), Failure)


WAITS: list[tuple[str, float | None]] = [
    ("0", 0), ("120", 120), (" 5 ", 5), ("0000000000000000005", 5), ("86400", 86_400), ("86401", 86_400),
    ("9" * 5000, 86_400), ("Tue, 01 Jan 2030 00:01:00 GMT", 60), ("Tuesday, 01-Jan-30 00:01:00 GMT", 60),
    ("Tue Jan  1 00:01:00 2030", 60), ("Tue, 01 Jan 2030 01:01:00 +0100", 60), ("Mon, 31 Dec 2029 23:59:00 GMT", 0),
    ("Thu, 01 Jan 2099 00:00:00 GMT", 86_400), ("", None), ("soon", None), ("-5", None), ("1.5", None), ("1e3", None),
    ("٣", None), ("120, 30", None), ("Tue, 01 Jan 99999 00:00:00 GMT", None), ("Tue, 41 Jan 2030 00:00:00 GMT", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wait"), WAITS, ids=range(len(WAITS)))
def test_retry_after_is_seconds_or_a_date_of_http(text: str, wait: float | None) -> None:
    assert parse_retry_after(text, NOW) == wait
    found = answer(503, retry_after=text)
    assert isinstance(found, Failure) and found.retry_after == wait


WORDS = st.sampled_from(
    ["Tue,", "Jan", "1", "01", "2030", "12:00", ":", "GMT", "+0100", "-", "(", "9" * 30, "1-Jan-30"]
)


@given(st.text() | st.lists(WORDS).map(" ".join))
def test_any_retry_after_is_understood_within_a_day_or_not_at_all(text: str) -> None:
    wait = parse_retry_after(text, NOW)
    assert wait is None or 0 <= wait <= LONGEST_RETRY_AFTER


@given(st.integers(100, 599), st.binary(max_size=200) | st.binary(min_size=5000, max_size=5100), st.booleans())
def test_any_answer_is_read_and_its_text_can_be_kept(status: int, body: bytes, reads_body: bool) -> None:
    found = answer(status, body, reads_body)
    assert len(found.text) <= LONGEST_TEXT
    assert all(one.isprintable() or one == "\n" for one in found.text)
    assert found.text.encode().decode() == found.text


@given(st.dictionaries(st.text(), st.booleans() | st.none() | st.integers()))
def test_the_body_is_judged_as_json_judges_it(document: dict[str, object]) -> None:
    found = answer(200, json.dumps(document).encode(), reads_body=True)
    assert isinstance(found, Answered)
    assert (found.outcome is Outcome.FAILED) is (document.get("success") is False)


def test_an_error_is_kept_without_what_a_terminal_cannot_show() -> None:
    assert shortened("a\x00b\x1b[1m\ud800\nc\t") == "a b [1m \nc "
    assert shortened("x" * 5000) == "x" * LONGEST_TEXT
    assert read_answer(500, {}, "ü".encode() * 3000, NOW) == Failure(
        "HTTP_500", Category.TRANSIENT, ("HTTP 500 " + "ü" * 3000)[:LONGEST_TEXT]
    )
