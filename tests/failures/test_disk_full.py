"""No room for what is published: 503, nothing half stored, and service by itself when there is room again."""

import resource
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import make_url

from tests.failures.exactness import assert_exact
from tests.failures.processes import workers
from tests.support.brokers import ADMIN, LiveBroker, StartBroker, wait_until
from tests.support.load import Caller, Load, endless, set_up
from tests.support.private_server import PrivateServer

CONSUMERS = 3
LARGE = bytes(100_000)
TABLESPACE = ("--innodb-file-per-table=0", "--innodb-data-file-path=ibdata1:12M:autoextend:max:40M")
pytestmark = pytest.mark.alone


def test_sqlite_without_room_refuses_and_serves_again_by_itself(sqlite_url: str, start_broker: StartBroker) -> None:
    live = start_broker(sqlite_url)
    set_up(live.url, CONSUMERS)
    _limit_files(live, _largest(sqlite_url) + 50_000)
    with Load(live.url, endless("full"), body=LARGE) as load:
        wait_until(lambda: len(load.with_status(503)) >= 20, 30)
    _assert_refused_or_stored(load, sqlite_url)
    _limit_files(live, resource.RLIM_INFINITY)
    _publish_again(live, load, sqlite_url)


def _limit_files(live: LiveBroker, size: int) -> None:
    """No file of the serving processes may grow beyond this."""
    for pid in workers(live):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _largest(sqlite_url: str) -> int:
    path = Path(str(make_url(sqlite_url).database))
    return max(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


@pytest.fixture
def small_server() -> Iterator[PrivateServer]:
    """A server whose tables have little room."""
    started = PrivateServer.start_new(TABLESPACE)
    yield started
    started.stop()


def test_a_server_without_room_refuses_and_serves_again_when_something_was_deleted(
    small_server: PrivateServer, start_broker: StartBroker
) -> None:
    url = small_server.create_database()
    live = start_broker(url, BROKER_HTTP_WORKERS="2")
    set_up(live.url, CONSUMERS)
    with Load(live.url, endless("full"), body=LARGE) as load:
        wait_until(lambda: len(load.with_status(503)) >= 20, 60)
    assert load.published
    _assert_refused_or_stored(load, url)
    _delete_everything(live)
    set_up(live.url, CONSUMERS)
    with Caller(live.url) as caller:
        wait_until(lambda: caller.publish("after").status == 201, 30)


def _delete_everything(live: LiveBroker) -> None:
    answer = httpx.delete(f"{live.url}/channel/channel?force=true", headers=ADMIN, timeout=60)
    assert answer.status_code == 204, answer.text


def _assert_refused_or_stored(load: Load, database_url: str) -> None:
    assert load.statuses <= {201, 503}
    refused = [load.answers[key] for key in load.with_status(503)]
    assert all(answer and answer.headers.get("retry-after") == "2" for answer in refused)
    found = assert_exact(database_url, load.published, CONSUMERS)
    assert found.jobs.keys() == set(load.published)


def _publish_again(live: LiveBroker, before: Load, database_url: str) -> None:
    with Load(live.url, before.with_status(503), body=LARGE) as load:
        load.finish()
    assert load.statuses == {201}
    assert assert_exact(database_url, before.answers, CONSUMERS).rows == len(before.answers)
