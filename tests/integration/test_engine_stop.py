"""Real engines that are stopped or killed: nothing is lost, and no attempt is burnt."""

import os
import signal

from tests.integration.stopping import (
    DELIVERED,
    INFLIGHT,
    QUEUED,
    QUICK,
    alive,
    all_delivered,
    burnt,
    children,
    leases,
    lose_leases,
    prepare,
    slows_down,
    statuses,
)
from tests.support.brokers import wait_until
from tests.support.engines import StartEngine
from tests.support.rows import value
from tests.support.target import Answer, Target


def test_sigterm_lets_what_is_in_the_air_land_and_gives_back_the_rest(
    database_url: str, start_engine: StartEngine, target: Target
) -> None:
    broker = prepare(database_url, target, 900)
    target.rule = slows_down(target)
    engine = start_engine(database_url)
    wait_until(lambda: len(target.received) > QUICK and statuses(broker)[INFLIGHT] > 8, 20)
    assert engine.stop() == 0
    assert statuses(broker) == {DELIVERED: len(target.received), QUEUED: 900 - len(target.received)}
    assert burnt(broker) == 0
    assert leases(broker) == []
    assert engine.log.read_text().rstrip().endswith("Stopped.")


def test_what_does_not_land_within_the_limit_is_given_back(
    sqlite_url: str, start_engine: StartEngine, target: Target
) -> None:
    broker = prepare(sqlite_url, target, 6)
    target.rule = lambda _: Answer(hang=True)
    engine = start_engine(sqlite_url)
    target.wait_for(4)
    assert engine.stop() == 0
    assert (statuses(broker), burnt(broker)) == ({QUEUED: 6}, 0)
    assert (len(target.received), leases(broker)) == (4, [])


def test_a_killed_worker_is_replaced_and_its_jobs_are_delivered_when_their_lease_is_lost(
    database_url: str, start_engine: StartEngine, target: Target
) -> None:
    broker = prepare(database_url, target, 4)
    target.rule = lambda _: Answer(hang=True)
    engine = start_engine(database_url)
    target.wait_for(4)
    victims = children(engine.process.pid)
    target.rule = lambda _: Answer()
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(set(children(engine.process.pid)) - set(victims)) == len(victims), 10)
    assert statuses(broker) == {INFLIGHT: 4}
    lose_leases(broker)
    wait_until(lambda: all_delivered(broker, 4), 20)
    assert {one.headers["x-broker-attempt"] for one in target.received} == {"1"}
    assert value(broker, "SELECT COUNT(*) FROM job_event WHERE event = 'lease-lost'") == 4
    assert engine.stop() == 0


def test_workers_end_with_their_killed_supervisor_and_nothing_is_lost(
    server_url: str, start_engine: StartEngine, target: Target
) -> None:
    broker = prepare(server_url, target, 900)
    target.rule = slows_down(target)
    engine = start_engine(server_url, workers=2)
    wait_until(lambda: len(target.received) > QUICK, 20)
    workers = children(engine.process.pid)
    engine.process.kill()
    wait_until(lambda: not any(alive(one) for one in workers), 10)
    assert (len(workers), statuses(broker)[INFLIGHT], leases(broker)) == (3, 0, [])  # two deliver, one keeps the books
    assert statuses(broker)[DELIVERED] == len(target.received) < 900
    target.rule = lambda _: Answer()
    start_engine(server_url)
    wait_until(lambda: all_delivered(broker, 900), 30)
    assert len(target.received) == 900
