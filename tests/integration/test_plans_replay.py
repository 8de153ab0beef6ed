"""How both databases answer the statements of a replay: a bounded step at a time, by an index, of few and of many."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, text

from broker.bench.dlq_lots import Lots
from broker.bench.scratch import Scratch
from broker.domain.dead_selection import DeadFilter
from broker.domain.failures import Category
from broker.domain.ids import XidFactory
from broker.domain.states import JobStatus
from broker.operations.parts import Parts
from broker.store import consumers, dead_ranges, moved_dead
from broker.store.bulk import BulkInsert
from broker.store.dead_ranges import Spot, Stretch
from broker.store.engine import Database
from broker.store.moved_dead import Moved
from broker.store.summary import BEGINNING
from broker.store.tables import job, job_event, job_origin, message
from tests.integration.plans import _captured, explain
from tests.support.brokers import make_broker
from tests.support.calls import put
from tests.support.walk import register

STEP, SIZES, NOW = 50, (200, 20_000), datetime.now(UTC)
HOT = {"job", "o", "job_event", "there", "copy"}
INDEXES = {"job_origin_source", "PRIMARY", "job_dead", "message_public"}
pytestmark = pytest.mark.xdist_group("plans replay")
_insert = {
    table.name: BulkInsert(table, columns)
    for table, columns in (
        (message, ("id", "channelId", "producerId", "messageId", "payload", "contentType", "priority", "receivedAt",
                   "deliverAt", "hopCount")),
        (job, ("id", "messageId", "consumerId", "priority", "status", "statusChangedAt", "createdAt",
               "earliestNextAttemptAt", "retryAttemptCount", "replayCount")),
        (job_origin, ("jobId", "consumerId", "sourceJobId", "sourceChannelId", "sourceConsumerId", "errorType",
                      "errorText", "failedAt", "retryCount", "sourceMessageId")),
        (job_event, ("jobId", "id", "happenedAt", "event", "actor", "errorCategory")),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Graves:
    """A database with so many moved dead letters, half of them of a neighbour, and so many that are retained."""

    parts: Parts
    source: int
    channel: int
    waiting_at: int

    @property
    def database(self) -> Database:
        return self.parts.database

    def found(self, connection: Connection) -> list[Moved]:
        return moved_dead.find(connection, self.waiting_at, "", STEP)


def _filled(url: str, size: int) -> Graves:
    broker = make_broker(url, dlq_chunk=100)
    register(broker.client)
    put(broker.client, "/channel/graves")
    put(broker.client, "/channel/channel/consumer/consumer", deadChannel="graves")
    read = broker.parts.database.read
    source = read("source", lambda c: consumers.find(c, "channel", "consumer"))
    graves = read("graves", lambda c: consumers.find(c, "graves", "dead-letters"))
    assert source is not None and graves is not None
    made = Graves(broker.parts, source.key, source.channel_key, graves.key)
    broker.parts.database.write("fill", lambda c: _fill(c, made, graves.channel_key, size))
    lots = Lots(Scratch(url, None))
    lots.put(size, NOW - timedelta(days=1), 1000, (source.key,))
    lots.close()
    return made


def _fill(connection: Connection, made: Graves, grave_channel: int, size: int) -> None:
    ids, sources, copies, originals = (XidFactory().block(size) for _ in range(4))
    whose = ("consumer", "neighbour")
    for channel, keys, names in ((grave_channel, copies, sources), (made.channel, originals, originals)):
        rows = [(key, channel, 1, name, b"x", "text/plain", 5, NOW, NOW, 0)
                for key, name in zip(keys, names, strict=True)]  # fmt: skip
        _insert["message"](connection, rows)
    jobs = [(one, copy, made.waiting_at, 5, JobStatus.QUEUED, NOW, NOW, NOW, 0, 0)
            for one, copy in zip(ids, copies, strict=True)]  # fmt: skip
    _insert["job"](connection, jobs)
    origins = [(one, made.waiting_at, source, "channel", whose[at % 2], "HTTP_503", "no", NOW, 3, original)
               for at, (one, source, original) in enumerate(zip(ids, sources, originals, strict=True))]  # fmt: skip
    _insert["job_origin"](connection, origins)
    _insert["job_event"](connection, [(one, one, NOW, "moved", "broker", "NETWORK") for one in ids])


def _stretch(graves: Graves, connection: Connection) -> Stretch:
    found = dead_ranges.find(connection, graves.source, Spot(BEGINNING, ""), NOW, NOW, 100)
    assert found is not None and found[1] == 100
    wanted = dead_ranges.condition_of(DeadFilter(category=Category.TRANSIENT), deletable_only=False)
    return Stretch(graves.source, Spot(BEGINNING, ""), *found, *wanted)


def _same(graves: Graves, connection: Connection) -> None:
    assert moved_dead.same_message(connection, graves.channel, graves.found(connection)[7]) is not None


def _categories(graves: Graves, connection: Connection) -> None:
    assert len(moved_dead.categories(connection, graves.found(connection))) == STEP


def _cut(graves: Graves, connection: Connection) -> None:
    assert dead_ranges.cut(connection, _stretch(graves, connection), 10).length >= 10


CASES: dict[str, tuple[Callable[[Graves, Connection], object], int]] = {
    "find": (lambda g, c: g.found(c), 3 * STEP + 10),
    "categories": (_categories, 4 * STEP),
    "same message": (_same, 3 * STEP + 10),
    "cut a stretch": (_cut, 500),
    "count a stretch": (lambda g, c: dead_ranges.count(c, _stretch(g, c)), 500),
    "channels": (lambda g, c: moved_dead.channels_with(c, "consumer", 6), 30),
    "home": (lambda g, c: moved_dead.home(c, g.source), 5),
}


@pytest.fixture(scope="module", params=SIZES)
def served(request: pytest.FixtureRequest) -> Iterator[Graves]:
    """On a server, which knows how many there are."""
    server = request.getfixturevalue("server")
    url = server.create_database()
    made = _filled(url, request.param)
    made.database.write("analyze", lambda c: c.execute(text("ANALYZE TABLE job, job_origin, job_event, message")).all())
    yield made
    made.database.dispose()
    server.drop_database(url)


@pytest.fixture(scope="module")
def filed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graves]:
    """In a file."""
    made = _filled(f"sqlite:///{tmp_path_factory.mktemp('graves') / 'broker.sqlite3'}", 2000)
    yield made
    made.database.dispose()


@pytest.mark.parametrize("name", CASES)
def test_a_step_reads_as_much_of_many_as_of_few(served: Graves, name: str) -> None:
    work, reads = CASES[name]
    found = explain(served.database, lambda c: work(served, c))
    assert found
    for plan in found:
        assert plan.reads <= reads, plan
        assert not [step for step in plan.scans if step.table in HOT], plan
        assert {step.index for step in plan.steps if step.table in HOT} <= INDEXES, plan
        assert name == "channels" or not plan.sorts, plan


@pytest.mark.parametrize("name", CASES)
def test_sqlite_goes_by_an_index(filed: Graves, name: str) -> None:
    with filed.database.engine.connect() as connection:
        with _captured(filed.database) as statements:
            CASES[name][0](filed, connection)
        connection.rollback()
        for statement, values in (one for one in statements if one[0].startswith("SELECT")):
            lines = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
            assert lines
            assert not [line for line in lines if line.startswith("SCAN") and line.split()[1] in HOT], lines
            assert name == "channels" or not [line for line in lines if "TEMP B-TREE" in line], lines
