"""The line to the database is cut at a commit, and nobody knows whether it happened; or nothing comes through it."""

from collections.abc import Iterator

import httpx
import pytest

from tests.failures.exactness import assert_exact
from tests.support.brokers import LiveBroker, StartBroker, wait_until
from tests.support.load import Caller, Load, endless, set_up
from tests.support.proxy import CommitCutter, When

CONSUMERS = 3
LONGEST_SILENCE = 20


@pytest.fixture
def cutter(server_url: str) -> Iterator[CommitCutter]:
    """A line to the database that can be cut at a commit."""
    with CommitCutter(server_url) as made:
        yield made


@pytest.fixture
def live(cutter: CommitCutter, start_broker: StartBroker) -> LiveBroker:
    """A broker whose database is at the other end of that line."""
    started = start_broker(cutter.url, BROKER_HTTP_WORKERS="1")
    set_up(started.url, CONSUMERS)
    return started


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_publish_whose_commit_is_cut_off_is_stored_once(
    when: When, cutter: CommitCutter, live: LiveBroker, server_url: str
) -> None:
    with Caller(live.url) as caller:
        cutter.arm(when)
        first = caller.publish("cut")
        second = caller.publish("cut")
    assert (cutter.made, first.status, second.status) == (1, 201, 409)
    assert first.headers["location"] == "/channel/channel/message/cut"
    assert assert_exact(server_url, ["cut"], CONSUMERS).rows == 1


def test_concurrent_publishes_whose_commits_are_cut_off_are_stored_once_each(
    cutter: CommitCutter, live: LiveBroker, server_url: str
) -> None:
    messages = [f"m-{number}" for number in range(200)]
    cutter.arm("after", cuts=2)
    with Load(live.url, messages, clients=20) as load:
        load.finish()
    assert cutter.made == 2
    assert load.statuses == {201}
    assert assert_exact(server_url, messages, CONSUMERS).rows == len(messages)


def test_a_database_that_says_nothing_gives_503_in_bounded_time_and_service_when_it_speaks_again(
    cutter: CommitCutter, live: LiveBroker, server_url: str
) -> None:
    with Load(live.url, endless("m")) as load:
        wait_until(lambda: len(load.published) >= 50, 30)
        cutter.freeze()
        wait_until(lambda: len(load.with_status(503)) >= 5, 60)
        assert httpx.get(f"{live.url}/livez", timeout=2).status_code == 200
        cutter.thaw()
        enough = len(load.published) + 50
        wait_until(lambda: len(load.published) >= enough, 30)
    assert load.statuses == {201, 503}
    assert load.slowest < LONGEST_SILENCE
    assert_exact(server_url, load.published, CONSUMERS)
