"""The time, as an object that tests can move."""

import time
from datetime import UTC, datetime, timedelta


class Clock:
    """Real time plus an offset; the offset is zero outside tests."""

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def now(self) -> datetime:
        """The current time in UTC, with microseconds."""
        return datetime.now(UTC) + self.offset

    def seconds(self) -> float:
        """Seconds that never go back, for measuring how long something lasts."""
        return time.monotonic() + self.offset.total_seconds()

    def advance(self, by: timedelta) -> None:
        """Move time, as seen by everything that holds this clock; the database's sessions follow."""
        self.offset += by
