"""Real engines in the middle of their work, for tests that stop them."""

from collections import Counter
from pathlib import Path

from tests.support.brokers import Broker, make_broker
from tests.support.calls import put, send_batch
from tests.support.rows import execute, rows
from tests.support.target import Answer, Rule, Target
from tests.support.walk import register

QUICK, SLOW = 300, 1.0
LIMITS = {"consumerConcurrency": 4, "breakerThreshold": 0, "deliveryTimeout": 100}
QUEUED, INFLIGHT, DELIVERED = 1001, 1002, 1003


def prepare(url: str, target: Target, jobs: int, **settings: object) -> Broker:
    """A push consumer with so many jobs that are due."""
    broker = make_broker(url)
    register(broker.client, consumers=())
    put(broker.client, "/channel/channel/consumer/consumer", callbackUrl=target.url(), **{**LIMITS, **settings})
    send_batch(broker.client, *({"payload": "x"} for _ in range(jobs)))
    return broker


def slows_down(target: Target) -> Rule:
    """Quick at first, so that the engine claims ahead; then each delivery takes a while."""
    return lambda _: Answer(delay=SLOW if len(target.received) > QUICK else 0.0)


def statuses(broker: Broker) -> Counter[int]:
    """How many jobs are in each status."""
    found = rows(broker, "SELECT status, COUNT(*) AS n FROM job GROUP BY status")
    return Counter({row["status"]: row["n"] for row in found})


def children(pid: int) -> list[int]:
    """The processes that any thread of a process started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(one) for task in tasks for one in (task / "children").read_text().split()]


def alive(pid: int) -> bool:
    """Whether it runs, and does not only wait to be buried."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def lose_leases(broker: Broker) -> None:
    """As if the time of every lease were over."""
    execute(broker, "UPDATE lease SET expiresAt = '2000-01-01 00:00:00.000000'")


def all_delivered(broker: Broker, count: int) -> bool:
    """Whether nothing else is left."""
    return statuses(broker) == {DELIVERED: count}


def leases(broker: Broker) -> list[str]:
    """The leases that are held."""
    return [row["token"] for row in rows(broker, "SELECT token FROM lease")]


def burnt(broker: Broker) -> int:
    """Attempts that were counted, over all jobs."""
    return sum(row["retryAttemptCount"] for row in rows(broker, "SELECT retryAttemptCount FROM job"))
