"""The truth under storm: three instances are killed and the database is restarted while jobs die and are taken back."""

import random
import time
from typing import Any

import httpx
import pytest

from tests.failures.dead_storm import MOVING, STAYING, Storm
from tests.support.brokers import ADMIN, Broker, LiveBroker, StartBroker, make_broker, wait_until
from tests.support.engines import LiveEngine, StartEngine
from tests.support.killable import KillableServer
from tests.support.rows import rows, value
from tests.support.target import Answer, Target
from tests.support.truth import assert_exact, audit, truth

TURNS, TURN_SECONDS, RESTART_AT = 3, 9.0, 1
SUMMARY = {"BROKER_DLQ_SUMMARY_INTERVAL": "5s", "BROKER_DLQ_SETTLE": "1s", "BROKER_LEASE": "5s"}
WAITING = (
    "SELECT COUNT(*) FROM job j JOIN consumer c ON c.id = j.consumerId"
    " WHERE c.consumerId IN (:staying, :moving) AND j.status IN (1001, 1002)"
)
UNDONE = "SELECT COUNT(*) FROM operation WHERE state = 'running'"


@pytest.mark.alone
@pytest.mark.timeout(400)
def test_the_summary_is_exact_at_every_moment_of_a_storm(
    durable_server: KillableServer, durable_url: str, start_engine: StartEngine, start_broker: StartBroker,
    target: Target,
) -> None:  # fmt: skip
    broker = make_broker(durable_url, dlq_settle=1, dlq_summary_interval=5, lease=5)
    target.rule = lambda request: Answer(500, body=b"never")
    storm, kills = Storm(broker, target), 0
    serving = start_broker(durable_url, **SUMMARY)
    instances: list[LiveEngine | LiveBroker] = [*(start_engine(durable_url, **SUMMARY) for _ in range(2)), serving]
    with storm.blowing():
        for turn in range(TURNS):
            kills += blow(broker, instances, durable_server if turn == RESTART_AT else None)
            storm.calm()
            assert_calm(broker, serving)
            storm.rise()
    wait_until(lambda: value(broker, UNDONE) == 0, 60)
    dead = assert_calm(broker, serving)
    found = audit(broker.parts)
    assert found.good, found
    tell(broker, storm, kills, dead)
    assert died(broker) > 50 * TURNS * TURN_SECONDS


def blow(broker: Broker, instances: list[LiveEngine | LiveBroker], server: KillableServer | None) -> int:
    """Kill one instance after the other; what is stored is looked at all the while. Gives how many were killed."""
    chance, ends, kills = random.Random(3), time.monotonic() + TURN_SECONDS, 0
    while time.monotonic() < ends:
        victim = chance.choice(instances)
        victim.kill()
        if server is not None and not kills:
            server.restart()
        victim.start()
        kills += 1
        off = [dict(row) for row in truth(broker.parts) if not row["told"] == row["counted"] == row["rest"]]
        assert not off
    return kills


def assert_calm(broker: Broker, serving: LiveBroker) -> int:
    """When all that is pushed has died: every number is what the jobs say; so is the answer of a live instance."""
    wait_until(lambda: value(broker, WAITING, staying=STAYING, moving=MOVING) == 0, 60)
    wait_until(lambda: value(broker, "SELECT COUNT(*) FROM lease") == 0, 60)
    wait_until(lambda: value(broker, UNDONE) == 0, 60)
    dead = assert_exact(broker.parts)
    answer = httpx.get(f"{serving.url}/dlq-status", headers=ADMIN, timeout=10).json()
    assert sum(one["deadCount"] for one in answer["consumers"]) == dead
    return dead


def died(broker: Broker) -> Any:
    return value(broker, "SELECT SUM(died_total) FROM dlq_summary")


def tell(broker: Broker, storm: Storm, kills: int, dead: int) -> None:
    checkpoints = value(broker, "SELECT COUNT(DISTINCT checkpointAt) FROM dlq_history")
    (totals,) = rows(
        broker,
        "SELECT SUM(died_total) AS died, SUM(requeued_total) AS requeued, SUM(deleted_total) AS deleted,"
        " SUM(archived_total) AS archived, SUM(moved_total) AS moved FROM dlq_summary",
    )
    print(f"{dict(totals)}, {kills} kills, {checkpoints} checkpoints, {dead} dead, difference 0; {dict(storm.told)}")
