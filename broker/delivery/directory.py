"""Whom this process delivers to: all push consumers, kept up to date by reading what changed."""

import logging
from dataclasses import replace
from datetime import datetime, timedelta

from broker.delivery.outlets import Limits, Outlet, Share
from broker.domain.states import ConsumerType
from broker.domain.work import Target
from broker.operations.parts import Parts
from broker.store.targets import TargetRow, read_targets

REFRESH_SECONDS, IDLE_REFRESH_SECONDS = 1.0, 10.0
RELOAD_SECONDS = 300.0
OVERLAP = timedelta(seconds=10)
NEVER = float("-inf")
ROTATION = timedelta(hours=24)
log = logging.getLogger(__name__)


class Directory:
    """The outlets by consumer key."""

    def __init__(self, parts: Parts, share: Share) -> None:
        self._parts, self._share = parts, share
        self.outlets: dict[int, Outlet] = {}
        self._since: datetime | None = None
        self._refreshed_at, self._reload_at = NEVER, 0.0

    def refresh(self, now: float, needed: bool) -> bool:
        """Read what changed, when it is time to: seldom, while nothing is to be delivered. True when it was read."""
        if now < self._refreshed_at + (REFRESH_SECONDS if needed else IDLE_REFRESH_SECONDS):
            return False
        self._read(now)
        return True

    def look_now(self) -> None:
        """Read at the next occasion."""
        self._refreshed_at = NEVER

    def _read(self, now: float) -> None:
        """What changed; everything again now and then."""
        if now >= self._reload_at:
            self._since, self._reload_at = None, now + RELOAD_SECONDS
        since = None if self._since is None else self._since - OVERLAP
        moment, rows = self._parts.database.read("read targets", lambda c: read_targets(c, since))
        if since is None:
            self._drop_missing({row.key for row in rows})
        for row in rows:
            self._take(row, moment)
        self._since, self._refreshed_at = moment, now

    def _drop_missing(self, keys: set[int]) -> None:
        for key in [key for key, outlet in self.outlets.items() if key not in keys and not outlet.flying]:
            del self.outlets[key]

    def _take(self, row: TargetRow, moment: datetime) -> None:
        target = self._target(row, moment)
        held = self.outlets.get(row.key)
        if target is None:
            self._retire(row.key, held)
            return
        if held is not None and held.target == target:
            return
        limits, header = Limits(self._parts.settings, target, self._share), self._parts.settings.consumer_token_header
        if held is None:
            self.outlets[row.key] = Outlet(target, limits, header)
        else:
            held.update(target, limits, header)

    def _retire(self, key: int, held: Outlet | None) -> None:
        """Deleted, or no longer pushed to: what is in the air may land, nothing more sets out."""
        if held is None:
            return
        if held.flying or held.waiting:
            held.target = replace(held.target, paused=True)
        else:
            del self.outlets[key]

    def _target(self, row: TargetRow, moment: datetime) -> Target | None:
        gone = row.channel_id is None or row.consumer_id is None
        if gone or row.type is not ConsumerType.PUSH or row.callback_url is None:
            return None
        return Target(
            row.key, str(row.channel_id), str(row.consumer_id), row.type, row.callback_url, row.paused, row.overrides,
            row.channel_overrides, self._secrets(row, moment), self._unsealed(row, row.sealed_token),
        )  # fmt: skip

    def _secrets(self, row: TargetRow, moment: datetime) -> tuple[str, ...]:
        """The secret that signs, and for a while after a change the one before it."""
        changed = row.secret_changed_at
        rotating = changed is not None and moment - changed < ROTATION
        found = (row.sealed_secret, row.sealed_previous if rotating else None)
        return tuple(secret for one in found if (secret := self._unsealed(row, one)) is not None)

    def _unsealed(self, row: TargetRow, sealed: str | None) -> str | None:
        try:
            return None if sealed is None else self._parts.sealer.unseal(sealed)
        except Exception:
            log.exception("a secret of consumer %s/%s cannot be read", row.channel_id, row.consumer_id)
            return None
