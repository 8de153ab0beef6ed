"""What commands work on: the database or a server, alike in what they answer and in what they raise.

Entries are the JSON of the API with an `etag` added; refusals are the errors of the domain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from broker.domain.dead_selection import DeadAct
from broker.domain.preconditions import Preconditions
from broker.operations.importing import ImportOutcome
from broker.operations.publishing import Outcome

Json = dict[str, Any]
Ids = tuple[str, ...]
Selection = Mapping[str, str]
Watch = Callable[[int, int], None]


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


class DeadLetters(Protocol):
    """The dead of a consumer, whose ids are its channel's and its own; a selection names the filters of the API."""

    def status(self, channel_id: str | None, consumer_id: str | None) -> Json:
        """How many are dead, for every consumer or those asked for."""

    def status_text(self, channel_id: str | None, consumer_id: str | None) -> str:
        """The same as Prometheus takes it."""

    def list_dead(self, ids: Ids, selection: Selection, oldest: bool) -> Iterator[Json]:
        """Those that meet the selection, the latest death first, or the oldest."""

    def requeue(self, ids: Ids, job_id: str) -> None:
        """One of them, by its whole id."""

    def delete(self, ids: Ids, job_id: str, force: bool) -> None:
        """One of them, by its whole id."""

    def start(self, ids: Ids, act: DeadAct, selection: Selection, force: bool) -> Json:
        """Begin an act on all that meet the selection: the operation that does it, done or not."""

    def export(self, ids: Ids, selection: Selection) -> Iterator[Json]:
        """Those that meet the selection with all they carry, the oldest death first, each as `take_in` takes it."""

    def take_in(self, ids: Ids, items: Sequence[Json]) -> list[ImportOutcome]:
        """Jobs from elsewhere: what became of each."""

    def replay(self, ids: Ids, wish: Json) -> Json:
        """Begin to replay what the wish selects, in the words of the API; of a dry run what would be done."""

    def audit(self, repair: bool, watch: Watch) -> Json:
        """Recount all; `watch` may hear how many consumers are done, of how many."""


class Operations(Protocol):
    """Acts on many dead jobs, as the API shows them."""

    def list_operations(self) -> Iterator[Json]:
        """All of them, newest first."""

    def work_on(self, operation: Json) -> Json:
        """It, a moment later: with what was done in it, here or elsewhere."""

    def cancel(self, operation: Json) -> Json:
        """Stop it; what is done stays done."""


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

    @property
    def dlq(self) -> DeadLetters: ...

    @property
    def operations(self) -> Operations: ...

    def publish(self, channel_id: str, publisher: Publisher, items: Sequence[Json]) -> list[Outcome]:
        """Messages in the batch form of the API, each with its own outcome."""

    def get_message(self, channel_id: str, message_id: str) -> Json:
        """A message with its jobs."""


def bare_etag(etag: str) -> str:
    """An ETag without its quotes, which shells would eat."""
    return etag.strip('"')
