"""XIDs: growing, unique, well formed, also across threads and forks."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.domain.ids import ALPHABET, LAST_COUNT, XidFactory, is_xid


def decoded(xid: str) -> int:
    """The twelve bytes of an id as a number; four bits of the last character are filling."""
    number = 0
    for character in xid:
        number = number * 32 + ALPHABET.index(character)
    return number >> 4


def test_an_id_has_20_characters_and_says_when_it_was_made() -> None:
    xid = XidFactory(lambda: 1_700_000_000.9).new()
    assert is_xid(xid)
    assert decoded(xid) >> 64 == 1_700_000_000
    assert decoded(xid) & LAST_COUNT == 0


def test_the_first_second_is_counted_from_zero_without_gaps() -> None:
    factory = XidFactory(lambda: 5)
    counts = [decoded(xid) & LAST_COUNT for xid in [*factory.block(3), factory.new(), *factory.block(2)]]
    assert counts == [0, 1, 2, 3, 4, 5]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 50)), min_size=1, max_size=20))
def test_ids_grow_whatever_the_clock_does(steps: list[tuple[int, int]]) -> None:
    now = [0]
    factory = XidFactory(lambda: now[0])
    made: list[str] = []
    for second, count in steps:
        now[0] = second
        made += factory.block(count)
    assert made == sorted(set(made))
    assert all(map(is_xid, made))


def test_a_second_that_is_used_up_borrows_from_the_next() -> None:
    factory = XidFactory(lambda: 7)
    first = factory.new()
    factory._count = LAST_COUNT - 1
    last, beyond = factory.block(2)
    assert [decoded(xid) >> 64 for xid in (first, last, beyond)] == [7, 7, 8]
    assert first < last < beyond


def test_threads_never_get_the_same_id() -> None:
    factory = XidFactory()
    with ThreadPoolExecutor(8) as pool:
        blocks = list(pool.map(lambda _: factory.block(500), range(20)))
    assert len({xid for block in blocks for xid in block}) == 10_000
    assert all(block == sorted(block) for block in blocks)


def test_two_factories_do_not_share_a_prefix() -> None:
    assert len({XidFactory(lambda: 9).new() for _ in range(50)}) == 50


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_draws_a_prefix_of_its_own() -> None:
    factory = XidFactory(lambda: 9)
    factory.new()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, factory.new().encode())
        os._exit(0)
    theirs = os.read(reading, 20).decode()
    assert os.waitpid(child, 0)[1] == 0
    os.close(reading)
    os.close(writing)
    assert is_xid(theirs)
    assert decoded(theirs) >> 24 != decoded(factory.new()) >> 24


def test_other_texts_are_not_ids() -> None:
    good = "0123456789abcdefghig"
    assert is_xid(good)
    for text in ("", good[:-1], good + "0", good.upper(), good[:-1] + "1", "w" + good[1:], good + "\n", "٣" + good[1:]):
        assert not is_xid(text)
