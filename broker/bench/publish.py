"""`broker bench publish`: single posts and batches, each beside bare inserts of the same rows in the same run."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

from broker.bench import bare, client
from broker.bench.figures import Figure
from broker.bench.processes import cpu_seconds
from broker.bench.scratch import Scratch, scratch
from broker.bench.serving import serving
from broker.config import Settings
from broker.domain.preconditions import Preconditions
from broker.domain.setting_addresses import HostPort
from broker.operations.channels import put_channel
from broker.operations.consumers import put_consumer
from broker.operations.parts import Parts
from broker.operations.producers import put_producer
from broker.runtime.ports import free_port
from broker.store import channels, consumers, producers, schema
from broker.store.engine import Connection
from broker.wiring import build_parts

BATCH = 500
ANYTHING = Preconditions()
TOKENS = {"X-Broker-Channel-Token": "channel", "X-Broker-Producer-ID": "bench", "X-Broker-Producer-Token": "producer"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of what to measure."""

    messages: int
    connections: int
    consumers: int
    payload_bytes: int
    rounds: int


@dataclass(slots=True)
class Measure:
    """One way of publishing beside its bare limit, over all rounds."""

    what: str
    sees_database: bool = True
    messages: int = 0
    seconds: float = 0.0
    bare_seconds: float = 0.0
    broker_cpu: float = 0.0
    database_cpu: float = 0.0
    bare_database_cpu: float = 0.0
    times: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    @property
    def bare_rate(self) -> float:
        """The same, bare."""
        return self.messages / self.bare_seconds

    def show(self) -> dict[str, object]:
        """The figures: rates, CPU seconds per 1,000 messages, and the ratio to the bare limit."""
        thousands = self.messages / 1000
        answers = sorted(self.times)
        return {
            "what": self.what,
            "messages": self.messages,
            "messagesPerSecond": round(self.rate),
            "barePerSecond": round(self.bare_rate),
            "ratioToBare": round(self.bare_seconds / self.seconds, 3),
            "brokerCpuPer1000": round(self.broker_cpu / thousands, 4),
            "databaseCpuPer1000": self._seen(self.database_cpu / thousands),
            "bareDatabaseCpuPer1000": self._seen(self.bare_database_cpu / thousands),
            "answerP50Ms": round(1000 * answers[len(answers) // 2], 2),
            "answerP99Ms": round(1000 * answers[int(len(answers) * 0.99)], 2),
        }

    def _seen(self, cpu: float) -> float | None:
        """What cannot be seen from here is not 0."""
        return round(cpu, 4) if self.sees_database else None


@dataclass(frozen=True, slots=True)
class Result:
    """What was asked for and what was measured."""

    plan: Plan
    measures: list[Measure]

    def as_json(self) -> dict[str, object]:
        """For scripts."""
        return {"plan": asdict(self.plan), "measures": [measure.show() for measure in self.measures]}

    def figures(self) -> list[Figure]:
        """Each way beside its bare limit."""
        return [Figure.of_rates("publish", one.what, "messages/s", one.rate, one.bare_rate) for one in self.measures]


def run(settings: Settings, plan: Plan, advance: Callable[[], None]) -> Result:
    """Measure on a scratch database of the configured server; `advance` is told of each finished step."""
    with scratch(settings.database_url) as place:
        own = replace(settings, database_url=place.url, listen=HostPort("127.0.0.1", free_port()))
        parts = build_parts(own)
        schema.upgrade(parts.database)
        keys = _register(parts, plan)
        parts.database.dispose()
        with serving(own) as broker_pid:
            return Result(plan, _Bench(place, own, plan, keys, broker_pid).measure(advance))


def steps(plan: Plan) -> int:
    """How many steps `run` will tell of."""
    return plan.rounds * 6


class _Bench:
    """Alternates between the bare limit and the broker, so that both meet the same noise."""

    def __init__(
        self, place: Scratch, settings: Settings, plan: Plan, keys: tuple[int, int, list[int]], pid: int
    ) -> None:
        self.place, self.plan, self.keys, self.broker_pid = place, plan, keys, pid
        self.address = (settings.listen.host, settings.listen.port)
        self.payload = json.dumps({"fill": "x" * max(0, plan.payload_bytes - 12)}).encode()

    def measure(self, advance: Callable[[], None]) -> list[Measure]:
        plan = self.plan
        single = _request("/channel/bench/broadcast", self.payload)
        batch = _request("/channel/bench/broadcast-batch", self._batch_body())
        many = plan.connections
        ways = (
            ("single posts, 1 connection", max(200, plan.messages // 8), 1, single, 1),
            (f"single posts, {many} connections", plan.messages, many, single, 1),
            (f"batches of {BATCH}, 1 connection", plan.messages * 2, 1, batch, BATCH),
        )
        sees_database = cpu_seconds(self.place.server_pid) is not None
        measures = [Measure(way[0], sees_database) for way in ways]
        for _ in range(plan.rounds):
            for measure, (_what, messages, connections, request, size) in zip(measures, ways, strict=True):
                self._bare(measure, messages, connections, size)
                advance()
                self._product(measure, messages, connections, request, size)
                advance()
        return measures

    def _bare(self, measure: Measure, messages: int, connections: int, size: int) -> None:
        before = cpu_seconds(self.place.server_pid) or 0.0
        if connections == 1:
            connection = self.place.connect()
            begun = time.perf_counter()
            bare.insert(connection, self._rows(), max(1, messages // size), size)
            measure.bare_seconds += time.perf_counter() - begun
            connection.close()
        else:
            measure.bare_seconds += bare.insert_concurrently(
                self.place, self._rows, connections, messages // connections
            )
        measure.bare_database_cpu += (cpu_seconds(self.place.server_pid) or 0.0) - before

    def _product(self, measure: Measure, messages: int, connections: int, request: bytes, size: int) -> None:
        before = (cpu_seconds(self.broker_pid) or 0.0, cpu_seconds(self.place.server_pid) or 0.0)
        seconds, times = client.post(self.address, request, connections, max(1, messages // size))
        measure.seconds += seconds
        measure.times += times
        measure.messages += len(times) * size
        measure.broker_cpu += (cpu_seconds(self.broker_pid) or 0.0) - before[0]
        measure.database_cpu += (cpu_seconds(self.place.server_pid) or 0.0) - before[1]

    def _rows(self) -> bare.Rows:
        channel, producer, targets = self.keys
        return bare.Rows(self.place.is_sqlite, channel, producer, targets, self.payload)

    def _batch_body(self) -> bytes:
        item = {"payload": self.payload.decode(), "contentType": "application/json"}
        return json.dumps({"messages": [item] * BATCH}).encode()


def _register(parts: Parts, plan: Plan) -> tuple[int, int, list[int]]:
    """The channel, producer and consumers that messages are published with, by their keys."""
    put_channel(parts, "bench", {"token": TOKENS["X-Broker-Channel-Token"]}, ANYTHING)
    put_producer(parts, "bench", {"token": TOKENS["X-Broker-Producer-Token"]}, ANYTHING)
    for number in range(plan.consumers):
        put_consumer(parts, "bench", f"consumer-{number}", {"type": "pull"}, ANYTHING)
    return parts.database.read("bench keys", _keys)


def _keys(connection: Connection) -> tuple[int, int, list[int]]:
    channel, producer = channels.find(connection, "bench"), producers.find(connection, "bench")
    if channel is None or producer is None:
        raise client.BenchFailed("the bench's channel is gone")
    return channel.key, producer.key, consumers.keys_of(connection, channel.key)


def _request(path: str, body: bytes) -> bytes:
    headers = {"Host": "bench", "Content-Type": "application/json", "Content-Length": str(len(body)), **TOKENS}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body
