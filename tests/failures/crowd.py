"""Ten thousand small consumers beside a large one, filled by the database itself; and who was served when."""

from collections.abc import Iterable
from itertools import count, pairwise

from tests.support.brokers import Broker
from tests.support.calls import put, send
from tests.support.rows import execute, value
from tests.support.target import OK, Answer, Received, Target
from tests.support.walk import register

SMALL, BACKLOG, CHUNK = 10_000, 1_000_000, 100_000
LARGE = "large"
_DIGITS = "(SELECT 0 AS d" + "".join(f" UNION ALL SELECT {n}" for n in range(1, 10)) + ")"
# The ids and places of one row are changed, the rest is copied.
_CHANNELS = (
    "INSERT INTO channel (channelId, name, tokenHash, settings, paused, createdAt, changedAt, revision)"
    " SELECT CONCAT('small-', n), name, tokenHash, settings, paused, createdAt, changedAt, revision"
    " FROM channel JOIN {numbers} WHERE channelId = 'large'"
)
_CONSUMERS = (
    "INSERT INTO consumer (channelId, consumerId, name, tokenHash, type, callbackUrl, settings, paused, builtIn,"
    " createdAt, changedAt, revision) SELECT k.id, 'consumer', c.name, c.tokenHash, c.type, c.callbackUrl, c.settings,"
    " c.paused, c.builtIn, c.createdAt, c.changedAt, c.revision FROM consumer c JOIN channel k"
    " WHERE c.consumerId = 'consumer' AND k.channelId LIKE 'small-%'"
)
_JOBS = (
    "INSERT INTO job (id, messageId, consumerId, priority, status, statusChangedAt, createdAt, earliestNextAttemptAt,"
    " retryAttemptCount, replayCount) SELECT CONCAT('{prefix}', LPAD({number}, 12, '0')), '{message}', {consumer}, 5,"
    " 1001, NOW(6), NOW(6), NOW(6), 0, 0 FROM {source}"
)


def numbers(count: int) -> str:
    """A table of the numbers below a power of ten."""
    tens = [(f"t{at}", 10**at) for at in range(len(str(count)) - 1)]
    total = " + ".join(f"{name}.d * {ten}" for name, ten in tens)
    return f"(SELECT {total} AS n FROM {' JOIN '.join(f'{_DIGITS} {name}' for name, _ in tens)}) numbers"


class Crowd:
    """All consumers are pushed to one target; a request says by its channel whom it is for."""

    def __init__(self, broker: Broker, target: Target, **settings: object) -> None:
        self.broker, self.target, self._fills = broker, target, count(1)
        self.small: list[tuple[str, float]] = []
        self.large: list[float] = []
        target.rule = self._served
        register(broker.client, LARGE, ())
        put(broker.client, f"/channel/{LARGE}/consumer/consumer", callbackUrl=target.url(), **settings)
        execute(broker, _CHANNELS.format(numbers=numbers(SMALL)))
        execute(broker, _CONSUMERS)
        send(broker.client, channel=LARGE)
        self._message = value(broker, "SELECT id FROM message")
        self._large = value(broker, "SELECT id FROM consumer WHERE consumerId = 'consumer' ORDER BY id LIMIT 1")

    def fill_large(self) -> None:
        """A million jobs for the large consumer, which rests until it is resumed."""
        self.pause(True)
        for _ in range(0, BACKLOG, CHUNK):
            self._fill("n", str(self._large), numbers(CHUNK))

    def pause(self, paused: bool) -> None:
        """Hold the large consumer, or let it go."""
        put(self.broker.client, f"/channel/{LARGE}/consumer/consumer", paused=paused)

    def fill_small(self) -> None:
        """One job for each of the small ones, all due in the same moment."""
        self._fill("id", "id", f"consumer WHERE id <> {self._large}")

    def probe(self, number: int) -> None:
        """One message for one of the small ones, through the API."""
        assert send(self.broker.client, channel=f"small-{number}").status_code == 201

    def _served(self, request: Received) -> Answer:
        channel = request.headers["x-broker-channel-id"]
        if channel == LARGE:
            self.large.append(request.arrived)
        else:
            self.small.append((channel, request.arrived))
        return OK

    def _fill(self, number: str, consumer: str, source: str) -> None:
        prefix = f"{next(self._fills):08d}"
        given = {"number": number, "consumer": consumer, "source": source, "prefix": prefix, "message": self._message}
        execute(self.broker, _JOBS.format(**given))


def longest_gap(times: Iterable[float], begun: float, ended: float) -> float:
    """The longest time between two of them, from the beginning to the end."""
    all_of_them = [begun, *sorted(one for one in times if begun <= one <= ended), ended]
    return max(later - earlier for earlier, later in pairwise(all_of_them))
