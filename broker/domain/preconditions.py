"""Conditions under which a caller wants its change made: it must not overwrite what it has not seen."""

from dataclasses import dataclass
from datetime import datetime

from broker.domain.errors import PreconditionFailed
from broker.domain.registry import etag


@dataclass(frozen=True, slots=True)
class Preconditions:
    """`If-Match`, `If-None-Match: *` and `If-Unmodified-Since`; all empty means no condition."""

    match: tuple[str, ...] = ()
    must_be_new: bool = False
    unmodified_since: datetime | None = None

    def check_absent(self) -> None:
        """The thing does not exist yet."""
        if self.match:
            raise PreconditionFailed(
                "It does not exist, so it cannot match. Send the request without If-Match to create it."
            )

    def check(self, revision: int, changed_at: datetime) -> None:
        """The thing exists in this state."""
        if self.must_be_new:
            raise PreconditionFailed("It exists already. Leave out If-None-Match to change it.")
        if self.match and "*" not in self.match and etag(revision, changed_at) not in self.match:
            raise PreconditionFailed("It was changed since you read it. Read it again and repeat your change.")
        if self.unmodified_since is not None and changed_at.replace(microsecond=0) > self.unmodified_since:
            raise PreconditionFailed(
                f"It was changed at {changed_at:%Y-%m-%dT%H:%M:%SZ}, after the given time. Read it again."
            )
