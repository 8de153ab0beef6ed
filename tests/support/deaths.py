"""Consumers whose jobs die, as the tests of the summary write them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from broker.dlq.checkpointer import Checkpointer, Outcome, Result
from broker.domain.dead_selection import DeadAct, DeadFilter
from broker.domain.registry import Consumer
from broker.operations import bulk
from broker.operations.parts import Parts
from broker.store import consumers
from broker.store.operations import Operation
from tests.support.brokers import Broker, make_broker
from tests.support.calls import send_batch
from tests.support.jobs import act, make_jobs

SETTLED = timedelta(seconds=31)
MANY_HOPS = 21


def die(broker: Broker, count: int, channel: str = "channel") -> list[str]:
    """So many messages die by an operator's hand, for every consumer; gives the jobs."""
    ids = make_jobs(broker.client, count, channel)
    assert act(broker.client, "fail", *ids)["done"] == len(ids)
    return ids


def die_many(broker: Broker, count: int, channel: str = "channel") -> None:
    """So many messages that are dead from the start, for they have made too many hops."""
    for at in range(0, count, 1000):
        items = [{"payload": "x", "hopCount": MANY_HOPS}] * min(1000, count - at)
        assert send_batch(broker.client, *items, channel=channel)["created"] == len(items)


def checkpoint(broker: Broker, at_once: int = 50_000) -> Result:
    """What has died until now is settled, and is counted."""
    broker.clock.advance(SETTLED)
    done = Checkpointer(broker.parts, at_once).run(force=True)
    assert done.outcome is Outcome.DONE
    return done


def consumer_of(parts: Parts, name: str = "consumer", channel: str = "channel") -> Consumer:
    """As operations take it."""
    found = parts.database.read("test", lambda c: consumers.find(c, channel, name))
    assert found is not None
    return found


def act_on_all(parts: Parts, what: DeadAct, seconds: float = 60, **more: Any) -> Operation:
    """A bulk act on the dead of the usual consumer, to its end."""
    started = bulk.start(parts, consumer_of(parts), what, more.pop("wanted", DeadFilter()), "test", **more)
    return bulk.run(parts, started.id, seconds)


def second_instance(broker: Broker, **options: object) -> Iterator[Broker]:
    """Another broker on the same database."""
    url = broker.parts.database.engine.url.render_as_string(hide_password=False)
    made = make_broker(url, upgrade=False, **options)
    yield made
    made.parts.database.dispose()
