"""The answer to a COMMIT is lost on the way: nobody knows whether it happened, and still it must have happened once."""

from collections.abc import Iterator

import pytest

from tests.failures.exactness import assert_exact
from tests.support.brokers import LiveBroker, StartBroker
from tests.support.load import Caller, Load, set_up
from tests.support.proxy import CommitCutter, When

CONSUMERS = 3


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
