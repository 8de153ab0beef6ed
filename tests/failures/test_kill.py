"""kill -9 of the serving processes in the middle of publishing."""

import os
import signal

import httpx
import pytest

from tests.failures.exactness import assert_exact
from tests.failures.processes import workers
from tests.support.brokers import LiveBroker, StartBroker, wait_until
from tests.support.load import Load, endless, set_up

CONSUMERS = 3
MESSAGES = [f"message-{number}" for number in range(1000)]


@pytest.mark.alone
def test_every_message_answered_with_201_survives_a_killed_broker(database_url: str, start_broker: StartBroker) -> None:
    live = start_broker(database_url, BROKER_HTTP_WORKERS="2")
    set_up(live.url, CONSUMERS)
    with Load(live.url, MESSAGES) as load:
        wait_until(lambda: len(load.published) >= 300, 30)
        live.kill()
        load.finish()
    assert len(load.published) < len(MESSAGES)
    live.start()
    found = assert_exact(database_url, load.published, CONSUMERS)
    assert found.jobs.keys() <= load.answers.keys()
    _publish_the_rest(live, load, database_url)


def _publish_the_rest(live: LiveBroker, before: Load, database_url: str) -> None:
    """Clients send again what was not answered: 409 can only mean that it was stored after all."""
    rest = sorted(set(MESSAGES) - set(before.published))
    with Load(live.url, rest) as load:
        load.finish()
    assert load.statuses <= {201, 409}
    unanswered = {key for key, answer in before.answers.items() if answer is None}
    assert set(load.with_status(409)) <= unanswered
    assert assert_exact(database_url, MESSAGES, CONSUMERS).rows == len(MESSAGES)


@pytest.mark.alone
def test_a_killed_worker_is_replaced_and_the_others_serve_on(server_url: str, start_broker: StartBroker) -> None:
    live = start_broker(server_url, BROKER_HTTP_WORKERS="2")
    set_up(live.url, CONSUMERS)
    before = workers(live)
    with Load(live.url, endless("m"), clients=8) as load:
        wait_until(lambda: len(load.published) >= 200, 30)
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: len(workers(live)) == 2 and before[0] not in workers(live), 20)
        enough = len(load.published) + 200
        wait_until(lambda: len(load.published) >= enough, 30)
    assert before[1] in workers(live)
    assert load.statuses <= {201, None}
    assert_exact(server_url, load.published, CONSUMERS)
    assert httpx.get(f"{live.url}/readyz").status_code == 200
