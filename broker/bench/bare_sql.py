"""The statements of the bare limit, by the driver alone; the same rows by the same indexes as the store's own."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from broker.bench.scratch import Scratch
from broker.domain.ids import XidFactory
from broker.store.bulk import time_text

BATCH = 190
LEASE_SECONDS = 60


class Claimed(NamedTuple):
    """A leased job with its message."""

    token: str
    id: str
    attempts: int
    priority: int
    message_id: str
    payload: bytes
    content_type: str


class Tables:
    """One connection of one process."""

    def __init__(self, place: Scratch) -> None:
        self.is_sqlite, self.ids = place.is_sqlite, XidFactory()
        self.connection = place.connect()
        self.cursor = self.connection.cursor()
        self.due = "" if self.is_sqlite else "FORCE INDEX (job_due)"
        self.by_key = "" if self.is_sqlite else "FORCE INDEX (PRIMARY)"

    def claim(self, consumer: int) -> list[Claimed]:
        """The first jobs of a lane that are due and not locked by others, leased and read, in one transaction."""
        if self.is_sqlite:
            self.cursor.execute("BEGIN IMMEDIATE")
        now = self._now()
        self.cursor.execute(
            f"SELECT id FROM job {self.due} WHERE consumerId = {consumer} AND priority = 0"
            f" AND earliestNextAttemptAt <= {now} ORDER BY earliestNextAttemptAt, id LIMIT {BATCH}"
            f" {'' if self.is_sqlite else 'FOR UPDATE SKIP LOCKED'}"
        )
        ids = [row[0] for row in self.cursor.fetchall()]
        claimed = self._lease(consumer, ids, now) if ids else []
        self.connection.commit()
        return claimed

    def _lease(self, consumer: int, ids: Sequence[str], now: str) -> list[Claimed]:
        token, listed = self.ids.new(), "','".join(ids)
        self.cursor.execute(
            f"UPDATE job {self.by_key} SET status = 1002, statusChangedAt = {now}, earliestNextAttemptAt = NULL,"
            f" leaseToken = '{token}' WHERE id IN ('{listed}')"
        )
        self.cursor.execute(
            "INSERT INTO lease (token, consumerId, owner, expiresAt, jobIds)"
            f" VALUES ('{token}', {consumer}, 'bare', {self._now(LEASE_SECONDS)}, '{''.join(ids)}')"
        )
        self.cursor.execute(
            f"SELECT '{token}', j.id, j.retryAttemptCount, j.priority, m.messageId, m.payload, m.contentType"
            f" FROM job AS j {self.by_key} JOIN message AS m ON m.id = j.messageId WHERE j.id IN ('{listed}')"
        )
        return [Claimed._make(row) for row in self.cursor.fetchall()]

    def complete(self, token: str, ids: Sequence[str], ended: bool) -> None:
        """Jobs of one lease were answered; its row goes with its last job."""
        if self.is_sqlite and not self.connection.in_transaction:
            self.cursor.execute("BEGIN IMMEDIATE")
        listed = "','".join(ids)
        self.cursor.execute(
            f"UPDATE job {self.by_key} SET status = 1003, statusChangedAt = {self._now()}, outcome = 'ok',"
            f" leaseToken = NULL WHERE id IN ('{listed}') AND leaseToken = '{token}'"
        )
        if ended:
            self.cursor.execute(f"DELETE FROM lease WHERE token = '{token}'")

    def commit(self) -> None:
        """Make it last."""
        self.connection.commit()

    def _now(self, ahead: int = 0) -> str:
        if self.is_sqlite:
            return f"'{time_text(datetime.now(UTC) + timedelta(seconds=ahead))}'"
        return f"UTC_TIMESTAMP(6) + INTERVAL {ahead} SECOND" if ahead else "UTC_TIMESTAMP(6)"
