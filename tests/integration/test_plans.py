"""How the server answers the store's statements at three sizes: by which index, reading how many rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from sqlalchemy import Connection, select

from broker.domain.pages import Cursor
from broker.domain.states import MessageStatus
from broker.store import channels, consumers, messages, producers, publishing, sweeping
from broker.store.tables import channel, consumer
from tests.integration.plans import (
    BUSY_CHANNEL,
    BUSY_CONSUMER,
    CHANNELS,
    CONSUMERS,
    LONELY_CHANNEL,
    NOW,
    Filled,
    Plan,
)
from tests.support.server import Server

LIMIT = 25
PAGE_READS = 2 * (LIMIT + 1) + 10
pytestmark = pytest.mark.xdist_group("plans")  # the databases are filled once, not once per process


@pytest.fixture(scope="module", params=[10, 1000, 50_000])
def filled(request: pytest.FixtureRequest, server: Server) -> Iterator[Filled]:
    """A database of each size."""
    url = server.create_database()
    made = Filled(url, request.param)
    yield made
    made.database.dispose()
    server.drop_database(url)


@dataclass(frozen=True)
class Case:
    """Work of the store, the indexes it may use by table, and how many rows a statement may read: all, for a count."""

    work: Callable[[Filled, Connection], object]
    reads: int | None = None
    sorts: bool = False
    indexes: dict[str, set[str]] = field(default_factory=dict)


def middle(filled: Filled) -> str:
    return filled.keys[filled.size // 2]


def page(status: MessageStatus | None, cursor: Callable[[Filled], Cursor | None]) -> Case:
    return Case(
        lambda f, c: messages.page(c, BUSY_CHANNEL, status, cursor(f), LIMIT),
        PAGE_READS,
        indexes={"message": {"message_by_time"}},
    )


def scheduled(cursor: Callable[[Filled], Cursor | None]) -> Case:
    return Case(
        lambda f, c: messages.scheduled_page(c, BUSY_CHANNEL, cursor(f), LIMIT),
        PAGE_READS,
        indexes={"scheduled_message": {"scheduled_message_by_time"}, "message": {"PRIMARY"}},
    )


def at_start(filled: Filled) -> None:
    return None


def after(filled: Filled) -> Cursor:
    return Cursor((NOW - timedelta(seconds=filled.size // 2), middle(filled)))


def before(filled: Filled) -> Cursor:
    return Cursor(after(filled).key, backwards=True)


def after_scheduled(filled: Filled) -> Cursor:
    return Cursor((NOW + timedelta(days=1, seconds=filled.size // 2), middle(filled)))


def before_scheduled(filled: Filled) -> Cursor:
    return Cursor(after_scheduled(filled).key, backwards=True)


def sweep_consumer(filled: Filled, connection: Connection) -> None:
    consumers.bury(connection, BUSY_CONSUMER)
    assert sweeping._sweep_consumer(connection) > 1


def sweep_channel(filled: Filled, connection: Connection) -> None:
    channels.bury(connection, LONELY_CHANNEL)
    assert sweeping._sweep_channel(connection) >= 1


CASES = {
    "open channels": Case(
        lambda f, c: publishing.open_channels(c, [1, 2, 3]),
        reads=15,
        indexes={"channel": {"PRIMARY"}, "consumer": {"consumer_public"}},
    ),
    "existing": Case(
        lambda f, c: publishing.existing(c, [(BUSY_CHANNEL, f"message-{key}") for key in f.keys[:150]]),
        reads=310,
        indexes={"message": {"message_public"}},
    ),
    "find message": Case(
        lambda f, c: messages.find(c, BUSY_CHANNEL, f"message-{middle(f)}"),
        reads=5,
        indexes={"message": {"message_public"}, "producer": {"PRIMARY"}, "scheduled_message": {"PRIMARY"}},
    ),
    "jobs of a message": Case(
        lambda f, c: messages.jobs_of(c, middle(f)),
        reads=12,
        indexes={"job": {"job_by_message"}, "consumer": {"PRIMARY"}},
    ),
    **{
        f"page of {status.name if status else 'all'} {cursor.__name__}": page(status, cursor)
        for status in (None, *MessageStatus)
        for cursor in (at_start, after, before)
    },
    **{f"scheduled {cursor.__name__}": scheduled(cursor) for cursor in (at_start, after_scheduled, before_scheduled)},
    "counts": Case(
        lambda f, c: messages.counts(c, BUSY_CHANNEL),
        indexes={"message": {"message_by_time"}, "scheduled_message": {"scheduled_message_by_time"}},
    ),
    "delete scheduled": Case(
        lambda f, c: messages.delete_scheduled(c, f.keys[0]),
        reads=8,
        indexes={
            "scheduled_message": {"PRIMARY"},
            "job": {"job_by_message", "PRIMARY"},
            "message": {"PRIMARY"},
        },
    ),
    "unfinished": Case(
        lambda f, c: consumers.unfinished(c, BUSY_CONSUMER),
        indexes={"job": {"job_due"}, "lease": {"lease_by_consumer"}},
    ),
    "find channel": Case(lambda f, c: channels.find(c, "channel-1"), 3, indexes={"channel": {"channel_public"}}),
    "lock channels": Case(
        lambda f, c: channels.lock(c, "channel-1", "channel-2"),
        reads=5,
        indexes={"channel": {"channel_public", "PRIMARY"}},
    ),
    "find consumer": Case(
        lambda f, c: consumers.find(c, "channel-1", "consumer-1"),
        reads=4,
        indexes={"channel": {"channel_public"}, "consumer": {"consumer_public"}},
    ),
    "page of consumers": Case(
        lambda f, c: consumers.page(c, BUSY_CHANNEL, None, LIMIT),
        reads=10,
        sorts=True,
        indexes={"consumer": {"consumer_public"}},
    ),
    "page of channels": Case(
        lambda f, c: channels.page(c, Cursor((10,)), 5), reads=8, indexes={"channel": {"PRIMARY"}}
    ),
    "find producer": Case(
        lambda f, c: producers.find(c, "producer"), reads=2, indexes={"producer": {"producer_public"}}
    ),
    "sweep a consumer": Case(
        sweep_consumer,
        reads=1010,
        indexes={
            "consumer": {"PRIMARY", "consumer_deleted"},
            "job": {"job_dead", "job_due", "PRIMARY"},
            "job_event": {"PRIMARY"},
            "job_origin": {"PRIMARY"},
        },
    ),
    "sweep a channel": Case(
        sweep_channel,
        reads=1010,
        indexes={
            "channel": {"PRIMARY", "channel_deleted"},
            "consumer": {"consumer_public"},
            "message": {"message_by_time", "message_public", "PRIMARY"},
            "scheduled_message": {"PRIMARY"},
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_statement_goes_by_its_index(filled: Filled, name: str) -> None:
    """A table of ten rows may be read whole and sorted, but only by a statement that leaves no locks."""
    case = CASES[name]
    plans = filled.plans(lambda connection: case.work(filled, connection))
    assert plans
    for plan in plans:
        assert plan.reads <= (case.reads or filled.size + 20), plan
        if plan.locks or filled.size > 10:
            _assert_by_index(case, plan)


def _assert_by_index(case: Case, plan: Plan) -> None:
    assert not plan.scans, plan
    assert not (plan.walks and plan.locks), plan
    assert case.sorts or not plan.sorts, plan
    for step in plan.steps:
        assert step.index is None or step.index in case.indexes.get(step.table, {step.index}), plan


def test_publishing_share_locks_the_rows_of_its_channel_and_no_others(filled: Filled) -> None:
    """A second publisher does not wait for it, and a registry change of another channel does not either."""
    others = select(channel.c.id).with_for_update(skip_locked=True)
    their_consumers = select(consumer.c.id).with_for_update(skip_locked=True)
    mine = {key for key in CONSUMERS if key % len(CHANNELS) == BUSY_CHANNEL}
    engine = filled.database.engine
    with engine.connect() as one, engine.connect() as two, engine.connect() as three:
        _, first = publishing.open_channels(one, [BUSY_CHANNEL])
        _, second = publishing.open_channels(two, [BUSY_CHANNEL])
        assert {target.key for target in first[BUSY_CHANNEL].targets} == mine
        assert first == second
        assert set(three.execute(others).scalars()) == {*CHANNELS, LONELY_CHANNEL} - {BUSY_CHANNEL}
        assert set(three.execute(their_consumers).scalars()) == set(CONSUMERS) - mine
