"""Streams of lines become batches of messages without ever being in memory as a whole."""

import base64
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cli.lines import Line, in_batches, json_item, read_lines, text_item
from broker.cli.sending import Account, send
from broker.domain.errors import BrokerError, DuplicateMessage, Invalid, TooLarge
from broker.operations.publishing import Outcome, Published


def _payload(line: Line) -> bytes:
    assert isinstance(line.item, dict)
    return base64.b64decode(line.item["payload"])


@given(st.lists(st.binary().filter(lambda line: b"\n" not in line and not line.endswith(b"\r"))))
def test_every_line_is_a_payload(lines: list[bytes]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    found = list(read_lines(io.BytesIO(stream), text_item))
    assert [_payload(line) for line in found] == lines
    assert [line.number for line in found] == list(range(1, len(lines) + 1))
    assert sum(line.size for line in found) == len(stream)


def test_the_last_line_needs_no_end_and_ends_can_be_of_either_kind() -> None:
    assert [_payload(line) for line in read_lines(io.BytesIO(b"a\r\nb\n\nc"), text_item)] == [b"a", b"b", b"", b"c"]


@pytest.mark.parametrize("tail", [b"", b"\n", b"\nnext\n"])
def test_a_line_that_is_too_long_spoils_only_itself(tail: bytes) -> None:
    found = list(read_lines(io.BytesIO(b"short\n" + b"x" * 35 + tail), text_item, longest=10))
    assert isinstance(found[1].item, TooLarge)
    assert [(line.number, line.size) for line in found[:2]] == [(1, 6), (2, 35 + len(tail[:1]))]
    assert [_payload(line) for line in found[2:]] == ([b"next"] if b"next" in tail else [])


@pytest.mark.parametrize("line", [b"no", b"{", b'{"a": NaN}', b'{"a": -1e999}', b"\xff", b"[" * 100_000, b"1", b'"x"'])
def test_what_is_no_json_object_is_refused(line: bytes) -> None:
    assert isinstance(json_item(line), Invalid)


def test_json_lines_that_are_blank_are_no_messages() -> None:
    assert json_item(b"  \t") is None
    numbers = [line.number for line in read_lines(io.BytesIO(b'{"payload": "x"}\n\n \n{}\n'), json_item)]
    assert numbers == [1, 4]


@given(st.lists(st.integers(1, 50)), st.integers(1, 5), st.integers(1, 60))
def test_batches_keep_to_both_limits(sizes: list[int], most_lines: int, most_bytes: int) -> None:
    lines = [Line(number, size, {}) for number, size in enumerate(sizes)]
    batches = list(in_batches(iter(lines), most_lines, most_bytes))
    assert [line for batch in batches for line in batch] == lines
    for batch in batches:
        assert 1 <= len(batch) <= most_lines
        assert len(batch) == 1 or sum(line.size for line in batch) <= most_bytes


def test_a_batch_is_sent_before_the_rest_is_read() -> None:
    read: list[int] = []

    def endless() -> Iterator[Line]:
        for number in range(1_000_000):
            read.append(number)
            yield Line(number, 1, {})

    assert len(next(in_batches(endless(), 500))) == 500
    assert len(read) == 501


def test_the_account_keeps_lines_and_outcomes_together() -> None:
    account, done = Account(), list[int]()
    refused = Invalid.field("line", "is not JSON")
    items: list[dict[str, object] | BrokerError] = [{"n": 1}, refused, {"n": 2}, {"n": 3}]
    answers: list[Outcome] = [Published("m", "/m"), DuplicateMessage("again"), TooLarge("large")]
    batch = [Line(number, 10, item) for number, item in enumerate(items, 1)]
    send(account, [batch], lambda good: answers if len(good) == 3 else [], done.append)
    assert str(account) == "1 created, 1 duplicates, 2 rejected (lines 2, 4)"
    assert [number for number, _ in account.rejections] == [2, 4]
    assert (done, account.current) == ([40], None)
