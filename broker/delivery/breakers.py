"""The breakers that are not closed, so that whoever watches learns when they are again."""

from collections.abc import Mapping, Sequence

from broker.delivery.outlets import Outlet
from broker.delivery.telemetry import Telemetry

EVERY_SECONDS = 1.0


class OpenBreakers:
    """Those of one process: few, so that looking at them now and then costs a delivery nothing."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._open: set[Outlet] = set()
        self._look_at = 0.0

    def opened(self, outlets: Sequence[Outlet]) -> None:
        """Opened, or opened anew by a failed probe."""
        self._telemetry.opened(len(outlets))
        for outlet in outlets:
            self._open.add(outlet)
            self._tell(outlet, is_open=True)

    def look(self, now: float, outlets: Mapping[int, Outlet]) -> None:
        """Every second: which of them are closed again, or belong to nobody any more."""
        if not self._open or now < self._look_at:
            return
        self._look_at = now + EVERY_SECONDS
        for outlet in list(self._open):
            if outlet.breaker.is_closed or outlets.get(outlet.target.key) is not outlet:
                self._open.remove(outlet)
                self._tell(outlet, is_open=False)

    def _tell(self, outlet: Outlet, is_open: bool) -> None:
        self._telemetry.breaker(outlet.target.channel_id, outlet.target.consumer_id, is_open)
