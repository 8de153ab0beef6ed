"""Where the dead-letter bench works: scratch databases with a few consumers, one of which has most of the dead."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from broker.bench.client import BenchFailed
from broker.bench.dlq_lots import BURST, Lot, Lots
from broker.bench.scratch import Scratch, scratch
from broker.config import Settings
from broker.domain.preconditions import Preconditions
from broker.domain.registry import Consumer
from broker.domain.setting_addresses import HostPort
from broker.operations.channels import put_channel
from broker.operations.consumers import put_consumer
from broker.operations.dlq_status import read_status
from broker.operations.parts import Parts
from broker.runtime.ports import free_port
from broker.store import consumers, schema
from broker.wiring import build_parts

ANYTHING = Preconditions()
CONSUMERS = 5
SETTLE_SECONDS = 0.2
SPREAD = timedelta(days=30)
OLD = timedelta(days=60)
MILLISECOND = 1000


@dataclass(frozen=True, slots=True)
class Ground:
    """One database, its consumers by their keys, and the first of them, which has most of the dead."""

    place: Scratch
    settings: Settings
    parts: Parts
    lots: Lots
    keys: tuple[int, ...]
    crowded: Consumer

    def fill(self, count: int, advance: Callable[[], None]) -> None:
        """So many dead over the last days, up to an hour ago; the summary knows nothing of them yet."""
        begins = self.lots.now() - SPREAD - timedelta(hours=1)
        every = max(MILLISECOND, round(SPREAD / timedelta(milliseconds=1) * BURST / max(1, count)) * MILLISECOND)
        self.lots.put(count, begins, every, self.keys, advance)
        self.lots.run("DELETE FROM dlq_summary")
        self.lots.connection.commit()

    def die(self, count: int) -> Lot:
        """So many die now, over all consumers; no checkpoint has counted them."""
        return self.lots.put(count, self.lots.now(), 0, self.keys)

    def put_old(self, count: int) -> Lot:
        """So many of the crowded consumer, dead before all others and counted."""
        lot = self.lots.put(count, self.lots.now() - OLD, MILLISECOND, self.keys[:1])
        self.account(self.keys[0], count, 0)
        return lot

    def account(self, key: int, died: int, deleted: int) -> None:
        """What was put in or taken out behind the summary's back is entered there."""
        self.lots.run(
            f"UPDATE dlq_summary SET dead_count = dead_count + {died} - {deleted}, died_total = died_total + {died},"
            f" deleted_total = deleted_total + {deleted} WHERE consumerId = {key}"
        )
        self.lots.connection.commit()

    def truth(self) -> dict[int, int]:
        """The full GROUP BY over the dead, from the index alone."""
        query = f"SELECT consumerId, COUNT(*) FROM {self.lots.by_death} WHERE deadAt IS NOT NULL GROUP BY consumerId"
        counted = {row[0]: row[1] for row in self.lots.run(query).fetchall()}
        self.lots.connection.commit()
        return counted

    def require_exact(self) -> None:
        """A figure is worth nothing when the answer is wrong."""
        told = {one.place.key: one.count.dead for one in read_status(self.parts) if one.count.dead}
        if told != (truth := self.truth()):
            raise BenchFailed(f"the summary says {told}, but the dead are {truth}")


@contextmanager
def prepared(settings: Settings) -> Iterator[Ground]:
    """A scratch database with its consumers, and nothing in it."""
    with scratch(settings.database_url) as place:
        listen = HostPort("127.0.0.1", free_port())
        own = replace(settings, database_url=place.url, listen=listen, dlq_settle=SETTLE_SECONDS, monitor_token=None)
        parts, lots = build_parts(own), Lots(place)
        try:
            schema.upgrade(parts.database)
            yield Ground(place, own, parts, lots, *_register(parts))
        finally:
            lots.close()
            parts.database.dispose()


def _register(parts: Parts) -> tuple[tuple[int, ...], Consumer]:
    put_channel(parts, "bench", {"token": "channel"}, ANYTHING)
    for number in range(CONSUMERS):
        put_consumer(parts, "bench", f"consumer-{number}", {"type": "pull"}, ANYTHING)
    crowded = parts.database.read("bench consumer", lambda c: consumers.find(c, "bench", "consumer-0"))
    if crowded is None:
        raise BenchFailed("the bench's consumer is gone")
    keys = parts.database.read("bench keys", lambda c: consumers.keys_of(c, crowded.channel_key))
    return (crowded.key, *(key for key in keys if key != crowded.key)), crowded
