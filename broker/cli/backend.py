"""What commands work on: the database or a server, alike in what they answer and in what they raise.

Entries are the JSON of the API with an `etag` added; refusals are the errors of the domain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from broker.domain.preconditions import Preconditions
from broker.operations.publishing import Outcome

Json = dict[str, Any]
Ids = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Publisher:
    """In whose name messages are published; whoever can open the database needs no tokens."""

    producer_id: str
    producer_token: str | None = None
    channel_token: str | None = None


class Registry(Protocol):
    """Producers, channels or consumers; a consumer's ids are its channel's and its own."""

    def put(self, ids: Ids, fields: Json, only_if: Preconditions) -> Json:
        """Create it, or change what is given."""

    def get(self, ids: Ids) -> Json:
        """The entry."""

    def list_ids(self, above: Ids) -> Iterator[str]:
        """All there are, newest first; `above` is the channel of consumers."""

    def delete(self, ids: Ids, only_if: Preconditions, force: bool) -> None:
        """Remove it."""


class Jobs(Protocol):
    """Jobs of every consumer; the unique start of an id stands for it."""

    def get(self, job_id: str) -> Json:
        """A job with its history."""

    def list_jobs(self, channel_id: str, consumer_id: str, state: str) -> Iterator[Json]:
        """A consumer's jobs of a state, or all, newest first."""

    def act(self, act: str, ids: Sequence[str], force: bool) -> Json:
        """retry, fail, done or drop: what became of each, and how many."""


class Backend(Protocol):
    """All that the commands need."""

    @property
    def producers(self) -> Registry: ...

    @property
    def channels(self) -> Registry: ...

    @property
    def consumers(self) -> Registry: ...

    @property
    def jobs(self) -> Jobs: ...

    def publish(self, channel_id: str, publisher: Publisher, items: Sequence[Json]) -> list[Outcome]:
        """Messages in the batch form of the API, each with its own outcome."""

    def get_message(self, channel_id: str, message_id: str) -> Json:
        """A message with its jobs."""


def bare_etag(etag: str) -> str:
    """An ETag without its quotes, which shells would eat."""
    return etag.strip('"')
