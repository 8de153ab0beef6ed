"""Replay of moved dead letters: killed, repeated, and beside a client that leases; each is there once, and stays so."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from broker.domain.dead_selection import DeadAct, DeadFilter, OperationState
from broker.domain.replay import Place, Replay
from broker.operations import bulk, replay
from broker.operations.access import Credentials
from tests.failures.injection import Killed, killed_after
from tests.support.brokers import ADMIN, ADMIN_TOKEN, Broker, make_broker
from tests.support.bulk_worker import CHUNK, BulkWorker
from tests.support.calls import parsed, put
from tests.support.deaths import SETTLED, act_on_all, checkpoint, die_many, second_instance
from tests.support.rows import count, value
from tests.support.truth import assert_exact, audit
from tests.support.walk import register

TAKEN_OVER = timedelta(seconds=bulk.LOCK_SECONDS + 1)
SIZE, LIMIT, RETAINED = 330, 370, 80
AT = "SELECT COUNT(*) FROM job WHERE status = 1001 AND consumerId = (SELECT id FROM consumer WHERE consumerId = '{}')"
MESSAGES = (
    "SELECT COUNT(DISTINCT j.messageId) FROM job j JOIN consumer c ON c.id = j.consumerId WHERE c.consumerId = '{}'"
)


@pytest.fixture
def moved(database_url: str) -> Iterator[Broker]:
    """330 dead letters in the dead channel and 80 that are retained; its clock is behind that of other processes."""
    broker = make_broker(database_url, dlq_chunk=CHUNK)
    broker.clock.advance(-2 * SETTLED)
    register(broker.client)
    put(broker.client, "/channel/graves")
    put(broker.client, "/channel/channel/consumer/consumer", deadChannel="graves")
    die_many(broker, SIZE)
    act_on_all(broker.parts, DeadAct.MOVE)
    die_many(broker, RETAINED // 2)
    checkpoint(broker)
    die_many(broker, RETAINED // 2)
    yield broker
    broker.parts.database.dispose()


def start(broker: Broker, limit: int | None = None, target: Place | None = None) -> str:
    wish = Replay(DeadFilter(), limit=limit, target=target)
    asked = replay.ask(broker.parts, Credentials(bearer=ADMIN_TOKEN), "channel", "consumer", wish)
    return replay.start(broker.parts, asked, "test").id


def assert_each_once(broker: Broker, done: int) -> None:
    """Nothing is lost and nothing is there twice: as many wait at the consumer as were replayed, each of a message."""
    assert count(broker, "job") == SIZE + RETAINED
    assert value(broker, AT.format("consumer")) == done
    assert value(broker, MESSAGES.format("consumer")) == done + assert_exact(broker.parts)
    assert assert_exact(broker.parts) == max(0, RETAINED - done)


def test_a_replay_that_is_killed_is_gone_on_with_by_another_process_and_its_limit_holds(moved: Broker) -> None:
    url, started = moved.parts.database.engine.url.render_as_string(hide_password=False), start(moved, LIMIT)
    BulkWorker(url, started).kill_after(3)
    done = bulk.get_operation(moved.parts, started).done
    assert RETAINED < done <= LIMIT
    assert_each_once(moved, done)
    moved.clock.advance(SETTLED + TAKEN_OVER)
    ended = bulk.run(moved.parts, started, 60)
    assert (ended.state, ended.done, ended.skipped) == (OperationState.DONE, LIMIT, 0)
    assert_each_once(moved, LIMIT)
    assert bulk.run(moved.parts, start(moved), 60).done == SIZE + RETAINED - LIMIT
    assert_each_once(moved, SIZE + RETAINED)
    checkpoint(moved)
    assert audit(moved.parts).good


def test_a_replay_that_is_killed_between_any_two_statements_makes_no_second_job(moved: Broker) -> None:
    started = start(moved)
    for victim in second_instance(moved, dlq_chunk=CHUNK):
        for place in (*range(2, 16, 2), 30, 60, 100, 200, 300):
            victim.clock.offset = moved.clock.offset = moved.clock.offset + TAKEN_OVER
            with killed_after(victim.parts, place) as injection, pytest.raises(Killed):
                bulk.run(victim.parts, started, 60)
            assert injection.done
            assert_each_once(moved, bulk.get_operation(moved.parts, started).done)
    moved.clock.advance(TAKEN_OVER)
    assert bulk.run(moved.parts, started, 60).done == SIZE + RETAINED
    assert_each_once(moved, SIZE + RETAINED)


def test_a_replay_to_a_target_that_is_killed_counts_each_of_the_retained_once(moved: Broker) -> None:
    register(moved.client, "elsewhere", ("other",))
    started = start(moved, limit=RETAINED + 30, target=Place("elsewhere", "other"))
    for victim in second_instance(moved, dlq_chunk=CHUNK):
        for place in (6, 12, 40, 90):
            victim.clock.offset = moved.clock.offset = moved.clock.offset + TAKEN_OVER
            with killed_after(victim.parts, place), pytest.raises(Killed):
                bulk.run(victim.parts, started, 60)
            assert_exact(moved.parts)
    moved.clock.advance(TAKEN_OVER)
    assert bulk.run(moved.parts, started, 60).done == RETAINED + 30
    assert value(moved, AT.format("other")) == RETAINED + 30
    assert (count(moved, "job"), assert_exact(moved.parts)) == (SIZE + RETAINED, 0)


def test_replays_at_once_and_a_client_that_leases_meanwhile_take_each_job_once(moved: Broker) -> None:
    operations = [start(moved) for _ in range(3)]

    def lease(_: int) -> int:
        place = "/channel/graves/consumer/dead-letters/lease"
        answer = moved.app.test_client().post(place, json={"limit": 7, "clientId": "c"}, headers=ADMIN)
        assert answer.status_code == 200, answer.text
        return len(parsed(answer)["jobs"])

    with ThreadPoolExecutor(4) as pool:
        ended = pool.map(lambda one: bulk.run(moved.parts, one, 60), operations)
        leased = sum(pool.map(lease, range(8)))
        done = sum(one.done for one in ended)
    assert (done + leased, count(moved, "job")) == (SIZE + RETAINED, SIZE + RETAINED)
    assert value(moved, "SELECT COUNT(*) FROM job WHERE status = 1002") == leased
    assert value(moved, AT.format("consumer")) == done
    assert assert_exact(moved.parts) == 0
