"""One push consumer as this process serves it: its limits, its breaker, and the jobs that wait for a free slot."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from broker.config import Settings
from broker.delivery.exchange import KEPT_BODY, LARGEST_BODY
from broker.delivery.requests import RequestBuilder
from broker.delivery.signing import signing_keys
from broker.domain.breaker import Breaker
from broker.domain.overrides import resolve
from broker.domain.work import ClaimedJob, Target

FIRST_WINDOW = 8
MOST_AHEAD = 400
AHEAD_SECONDS = 0.25
STALLED_SECONDS = 1.0
RESERVED_SHARE = 16
BURST_SECONDS = 0.05
LEASE_MARGIN = 15.0


class Moment(NamedTuple):
    """When it is, and how many more deliveries this process may have in the air."""

    now: float
    free: int


@dataclass(frozen=True, slots=True)
class Share:
    """Which of how many processes of one instance this is: together they keep a consumer's limits."""

    index: int = 0
    of: int = 1

    def part(self, limit: int, key: int) -> int:
        """This process's part of a limit; which one gets the odd ones differs from consumer to consumer."""
        place = (self.index + key) % self.of
        return limit // self.of + (place < limit % self.of)


class Limits:
    """The settings of a consumer as the engine needs them, resolved once per change."""

    __slots__ = ("ca", "concurrency", "connect_timeout", "keeps", "lease", "open_seconds", "rate", "reads_success",
                 "reserved", "threshold", "timeout")  # fmt: skip

    def __init__(self, settings: Settings, target: Target, share: Share) -> None:
        layers = (target.overrides, target.channel_overrides)
        self.concurrency = share.part(
            resolve("consumer_concurrency", settings.consumer_concurrency, *layers), target.key
        )
        self.reserved = settings.delivery_concurrency // RESERVED_SHARE
        rate = resolve("consumer_rate", settings.consumer_rate, *layers)
        self.rate: float | None = None if rate is None else rate / share.of
        self.timeout: float = resolve("delivery_timeout", settings.delivery_timeout, *layers)
        self.connect_timeout: float = min(self.timeout, resolve("connect_timeout", settings.connect_timeout, *layers))
        self.ca: str | None = resolve("delivery_ca", settings.delivery_ca, *layers)
        lease: float = resolve("lease", settings.lease, *layers)
        self.lease = max(lease, self.timeout + LEASE_MARGIN)
        self.threshold: int = resolve("breaker_threshold", settings.breaker_threshold, *layers)
        self.open_seconds: float = resolve("breaker_open", settings.breaker_open, *layers)
        self.reads_success: bool = resolve("reads_success", settings.reads_success, *layers)
        self.keeps = LARGEST_BODY if self.reads_success else KEPT_BODY


class Outlet:
    """Decides how many jobs of its consumer may be claimed and sent.

    The window starts small and grows with every answer, so that a target that hangs holds few slots of all.
    """

    def __init__(self, target: Target, limits: Limits, token_header: str | None) -> None:
        self.breaker = Breaker()
        self.waiting: deque[tuple[str, ClaimedJob]] = deque()
        self.flying = 0
        self._window = FIRST_WINDOW
        self._answered, self._rate_seen, self._second, self._heard_at = 0, 0, 0.0, 0.0
        self._tokens, self._filled_at = 0.0, 0.0
        self.update(target, limits, token_header)

    def update(self, target: Target, limits: Limits, token_header: str | None) -> None:
        """Take over changed settings; what is known of the target stays."""
        self.target, self.limits = target, limits
        self.request = RequestBuilder(target, signing_keys(target.secrets), token_header)

    def slots(self, moment: Moment) -> int:
        """How many deliveries may start now."""
        now, free = moment
        room = min(self._window, self.limits.concurrency) - self.flying
        allowed = self.breaker.room(now, self.limits.open_seconds)
        if allowed is not None:
            room = min(room, allowed - self.flying)
        room = min(room, free, self._share(free))
        return max(0, room if self.limits.rate is None else min(room, self._fill(now)))

    def wants(self, moment: Moment) -> int:
        """How many jobs to claim: what can start, and what will within a moment at the present pace."""
        ahead = self._ahead(moment.now)
        wanted = self.slots(moment) + ahead - len(self.waiting)
        return wanted if wanted > ahead // 2 else 0

    def rests(self, now: float) -> bool:
        """Whether nothing is to be claimed for a while: paused, or its breaker is open."""
        return self.target.paused or self.breaker.room(now, self.limits.open_seconds) == 0

    def stalls(self, now: float) -> bool:
        """Whether nothing has been answered for a while, though something is in the air."""
        return self.flying > 0 and now - self._heard_at > STALLED_SECONDS

    def started(self, now: float) -> None:
        """A delivery set out."""
        if not self.flying:
            self._heard_at = now
        self.flying += 1
        self._tokens -= 1
        self.breaker.started()

    def answered(self, now: float) -> None:
        """An answer that says the target works."""
        self.flying -= 1
        self._answered += 1
        self._heard_at = now
        if self._window < self.limits.concurrency:
            self._window += 1
        self.breaker.succeeded()

    def failed(self, now: float) -> bool:
        """A failure; True when it opens the breaker."""
        self.flying -= 1
        self._heard_at = now
        self._window = max(FIRST_WINDOW, self._window // 2)
        return self.breaker.failed(now, self.limits.threshold)

    def _share(self, free: int) -> int:
        """The last free slots are for those that have few in the air: so several may hang at their full speed."""
        few = min(FIRST_WINDOW, max(1, free // 4))
        return max(free - self.limits.reserved, few - self.flying)

    def _ahead(self, now: float) -> int:
        closed = self.breaker.room(now, self.limits.open_seconds) is None
        if not closed or self.limits.rate is not None or self.stalls(now):
            return 0
        return min(MOST_AHEAD, int(self._pace(now) * AHEAD_SECONDS))

    def _pace(self, now: float) -> int:
        if now - self._second >= 1.0:
            self._rate_seen, self._answered, self._second = self._answered, 0, now
        return max(self._rate_seen, self._answered)

    def _fill(self, now: float) -> int:
        """A bucket of tokens, so small that deliveries are spread evenly."""
        rate = self.limits.rate or 0.0
        most = max(1.0, rate * BURST_SECONDS)
        self._tokens = min(most, self._tokens + (now - self._filled_at) * rate)
        self._filled_at = now
        return int(self._tokens)
