"""Deliveries in the air: started when their consumer has a slot, landed as reports."""

import time
from datetime import UTC, datetime

from broker.delivery.addresses import AddressGuard
from broker.delivery.breakers import OpenBreakers
from broker.delivery.desk import Desk
from broker.delivery.outlets import Outlet
from broker.delivery.sender import Reply, Sender, Sending
from broker.delivery.telemetry import Telemetry
from broker.domain.failures import OK, RESULT_HEADER, Answered, Failure, read_answer
from broker.domain.work import ClaimedJob
from broker.operations.finishing import Report
from broker.operations.parts import Parts
from broker.operations.reaping import EXPIRED
from broker.store.claiming import read_payload

LARGE_BYTES = 64_000_000
REQUEST_IDS = 200
_RESULT = RESULT_HEADER.encode()
Flight = tuple[Outlet, str, ClaimedJob]


class Flights:
    """Sends jobs and reads their answers. Large payloads are fetched when they are sent, a bounded amount at once."""

    def __init__(self, parts: Parts, desk: Desk, telemetry: Telemetry, breakers: OpenBreakers) -> None:
        self._parts, self._desk, self._telemetry, self._breakers = parts, desk, telemetry, breakers
        settings = parts.settings
        guard = AddressGuard(settings.delivery_allowed_networks, settings.delivery_denied_networks)
        self._sender = Sender(guard, settings.delivery_concurrency)
        self._retries_here = settings.retry_processor_enabled
        self._aloft: set[tuple[str, str]] = set()
        self._took: dict[tuple[str, str, str], list[float]] = {}
        self._request_ids: list[str] = []
        self._large = 0

    @property
    def count(self) -> int:
        """How many are in the air."""
        return len(self._aloft)

    def launch(self, outlet: Outlet, now: float) -> bool:
        """Send the first that waits; False when it is large, and too much is on its way already."""
        token, job = outlet.waiting[0]
        if job.payload is None and self._large and self._large + job.size > LARGE_BYTES:
            return False
        if self._is_for_the_desk(token, job, now):
            outlet.waiting.popleft()
            return True
        body = self._fetch(job) if job.payload is None else job.payload
        outlet.waiting.popleft()
        limits = outlet.limits
        headers = outlet.request.headers(job, body, time.time(), self._request_id())
        url = str(outlet.target.callback_url)
        self._aloft.add((token, job.id))
        outlet.started(now)
        self._sender.start(
            Sending(url, headers, body, limits.timeout, limits.connect_timeout, limits.ca, limits.keeps),
            (outlet, token, job),
        )
        return True

    def land(self, wait: float) -> int:
        """Read what was answered, waiting a moment for it; gives how many."""
        results = self._sender.progress(wait)
        if results:
            self._landed(results)  # type: ignore[arg-type]
        return len(results)

    def aloft(self) -> list[tuple[str, str]]:
        """Token and id of each that is in the air; a job whose lease was lost may be there once more."""
        return list(self._aloft)

    def tell(self) -> None:
        """How long what landed since the last time took, by consumer and outcome."""
        if self._took:
            took, self._took = self._took, {}
            self._telemetry.delivered(took)

    def close(self) -> None:
        """Let go of what is in the air, and of every connection."""
        self._aloft.clear()
        self._sender.close()

    def _request_id(self) -> str:
        """A fresh id; made many at once, which is cheaper."""
        if not self._request_ids:
            self._request_ids = self._parts.ids.block(REQUEST_IDS)
        return self._request_ids.pop()

    def _is_for_the_desk(self, token: str, job: ClaimedJob, now: float) -> bool:
        """Parked and expired jobs are not sent; a retry is not, where this broker makes none."""
        if job.dead_reason is not None or job.expired:
            answer = None if job.dead_reason is not None else EXPIRED
            self._desk.take(Report(job.id, token, job.consumer_key, answer), now)
            return True
        if job.retries_made and not self._retries_here:
            self._desk.put_off(token, job.id)
            return True
        return False

    def _fetch(self, job: ClaimedJob) -> bytes:
        found = self._parts.database.read("read payload", lambda c: read_payload(c, job.message_key))
        self._large += job.size
        return found or b""

    def _landed(self, results: list[tuple[Flight, Reply | Failure, float]]) -> None:
        now = self._parts.clock.seconds()
        took = self._took
        opened: list[Outlet] = []
        for (outlet, token, job), reply, seconds in results:
            self._aloft.remove((token, job.id))
            if job.payload is None:
                self._large -= job.size
            answer, target = _read(reply, outlet), outlet.target
            if isinstance(answer, Failure):
                if outlet.failed(now):
                    opened.append(outlet)
                took.setdefault((target.channel_id, target.consumer_id, "failed"), []).append(seconds)
            else:
                outlet.answered(now)
                took.setdefault((target.channel_id, target.consumer_id, "delivered"), []).append(seconds)
            self._desk.take(Report(job.id, token, job.consumer_key, answer), now)
        if opened:
            self._breakers.opened(opened)


def _read(reply: Reply | Failure, outlet: Outlet) -> Answered | Failure:
    """What it means; the common case, an empty-handed 2xx, is seen at a glance."""
    if isinstance(reply, Failure):
        return reply
    if 200 <= reply.status <= 299 and not outlet.limits.reads_success and _RESULT not in reply.headers.lower():
        return OK
    return read_answer(reply.status, reply.fields(), reply.body, datetime.now(UTC), outlet.limits.reads_success)
