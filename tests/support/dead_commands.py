"""Dead jobs for tests of the command line, and whether their count is the truth."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Select, func, select, update

from broker.dlq.checkpointer import Checkpointer
from broker.domain.states import JobStatus
from broker.store.tables import channel, consumer, dlq_summary, job
from tests.support import states
from tests.support.brokers import Broker, make_broker, wait_until
from tests.support.cli import Commands


@contextmanager
def opened(commands: Commands) -> Iterator[Broker]:
    """The database behind the commands."""
    broker = make_broker(commands.database_url, upgrade=False, dlq_settle="0.1s")
    try:
        yield broker
    finally:
        broker.parts.database.dispose()


def make_jobs(commands: Commands, name: str, count: int) -> list[str]:
    """A channel with a consumer `c` and so many jobs; gives their ids, oldest first."""
    commands.set_up(name, "c")
    lines = "".join(f"{number}\n" for number in range(count))
    commands.done("publish", name, "--producer", f"{name}-p", "--lines", input=lines)
    return [one["id"] for one in reversed(commands.json("job", "list", name, "c", "--limit", "5000"))]


def make_dead(commands: Commands, name: str, count: int, counted: int = 0) -> list[str]:
    """The same, dead of a target that had no room; so many of them are counted by a checkpoint."""
    ids = make_jobs(commands, name, count)
    with opened(commands) as broker:
        if counted:
            states.die(broker, *ids[:counted])
            wait_until(lambda: _checkpoint(commands, broker, name) == counted, 20)
        states.die(broker, *ids[counted:])
    return ids


def dead(commands: Commands, name: str) -> int:
    """How many the status tells, after a look whether that is true, and whether the summary is."""
    told = standing(commands, name)
    with opened(commands) as broker:
        row = broker.parts.database.read("test", lambda c: c.execute(_truth(name)).one())
    real, before, stored = row[0], row[1], row[2]
    assert (told["deadCount"], told["checkpointedCount"]) == (real, stored)
    assert stored == before
    return int(real)


def standing(commands: Commands, name: str) -> dict[str, Any]:
    """What the status tells of consumer `c`."""
    (found,) = commands.json("dlq", "status", "--channel", name, "--consumer", "c")["consumers"]
    return dict(found)


def falsify(commands: Commands, name: str, by: int) -> None:
    """A checkpoint that counted wrong."""
    t = dlq_summary.c
    mine = select(consumer.c.id).join(channel, channel.c.id == consumer.c.channelId).where(channel.c.channelId == name)
    change = (
        update(dlq_summary)
        .where(t.consumerId.in_(mine))
        .values(dead_count=t.dead_count + by, died_total=t.died_total + by)
    )
    with opened(commands) as broker:
        broker.parts.database.write("test", lambda c: c.execute(change))


def _checkpoint(commands: Commands, broker: Broker, name: str) -> object:
    Checkpointer(broker.parts).run(force=True)
    return standing(commands, name)["checkpointedCount"]


def _truth(name: str) -> Select[Any]:
    """The dead counted one by one, those before the checkpoint, and what the summary says of these."""
    t = dlq_summary.c
    is_dead = (job.c.consumerId == t.consumerId) & (job.c.status == JobStatus.DEAD)
    all_of = select(func.count()).where(is_dead).scalar_subquery()
    before = select(func.count()).where(is_dead, job.c.statusChangedAt <= t.last_checked_at).scalar_subquery()
    query = select(all_of, before, t.dead_count).join(consumer, consumer.c.id == t.consumerId)
    return query.join(channel, channel.c.id == consumer.c.channelId).where(channel.c.channelId == name)
