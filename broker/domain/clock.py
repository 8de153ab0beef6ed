"""The time, as an object that tests can move."""

from datetime import UTC, datetime, timedelta


class Clock:
    """Real time plus an offset; the offset is zero outside tests."""

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def now(self) -> datetime:
        """The current time in UTC, with microseconds."""
        return datetime.now(UTC) + self.offset

    def advance(self, by: timedelta) -> None:
        """Move time, as seen by everything that holds this clock; the database's sessions follow."""
        self.offset += by
