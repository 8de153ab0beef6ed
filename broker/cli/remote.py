"""Commands on a running broker, through its HTTP API."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from urllib.parse import unquote

import httpx

from broker.cli.backend import Ids, Json, Publisher, bare_etag
from broker.cli.halving import in_halves
from broker.cli.problems import refusal_of
from broker.cli.remote_dlq import RemoteDeadLetters
from broker.cli.remote_jobs import RemoteJobs
from broker.cli.remote_operations import RemoteOperations
from broker.cli.server import Server, header_token
from broker.domain.pages import MOST
from broker.domain.preconditions import Preconditions
from broker.operations.places import channel_place, consumer_place, message_place, producer_place
from broker.operations.publishing import Outcome, Published

Place = Callable[..., str]
_HINT = "Check --producer, --producer-token and --channel-token."


class RemoteBackend:
    """Asks the server, whose answers are what the operations gave."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.producers = RemoteRegistry(server, producer_place, lambda: "/producers")
        self.channels = RemoteRegistry(server, channel_place, lambda: "/channels")
        self.consumers = RemoteRegistry(server, consumer_place, lambda channel: channel_place(channel, "consumers"))
        self.jobs = RemoteJobs(server)
        self.dlq = RemoteDeadLetters(server)
        self.operations = RemoteOperations(server)

    def publish(self, channel_id: str, publisher: Publisher, items: Sequence[Json]) -> list[Outcome]:
        """In one request; when that is more than the server reads at once, in two halves."""
        return in_halves(partial(self._publish, channel_id, publisher), items)

    def get_message(self, channel_id: str, message_id: str) -> Json:
        return self._server.document(self._server.ask("GET", message_place(channel_id, message_id)), "jobs")

    def _publish(self, channel_id: str, publisher: Publisher, items: Sequence[Json]) -> list[Outcome]:
        path, body = channel_place(channel_id, "broadcast-batch"), {"messages": list(items)}
        answer = self._server.ask("POST", path, body, headers=_publisher_headers(publisher), hint=_HINT)
        return [_outcome(result) for result in self._server.document(answer, "results")["results"]]


class RemoteRegistry:
    """Producers, channels or consumers: the same calls at different addresses."""

    def __init__(self, server: Server, place: Place, list_place: Place) -> None:
        self._server, self._place, self._list_place = server, place, list_place

    def put(self, ids: Ids, fields: Json, only_if: Preconditions) -> Json:
        return self._entry(self._server.ask("PUT", self._place(*ids), fields, headers=_conditions(only_if)))

    def get(self, ids: Ids) -> Json:
        return self._entry(self._server.ask("GET", self._place(*ids)))

    def list_ids(self, above: Ids) -> Iterator[str]:
        path: str | None = f"{self._list_place(*above)}?limit={MOST}"
        while path is not None:
            page = self._server.document(self._server.ask("GET", path), "pages")
            yield from (_last_segment(address) for address in page["result"])
            path = page["pages"].get("next")

    def delete(self, ids: Ids, only_if: Preconditions, force: bool) -> None:
        path = self._place(*ids) + ("?force=true" if force else "")
        self._server.ask("DELETE", path, headers=_conditions(only_if))

    def _entry(self, answer: httpx.Response) -> Json:
        return {**self._server.document(answer, "id"), "etag": bare_etag(answer.headers.get("ETag", ""))}


def _conditions(only_if: Preconditions) -> dict[str, str]:
    match = {"If-Match": ", ".join(only_if.match)} if only_if.match else {}
    return {**match, **({"If-None-Match": "*"} if only_if.must_be_new else {})}


def _publisher_headers(publisher: Publisher) -> dict[str, str]:
    return {
        "X-Broker-Producer-ID": publisher.producer_id,
        "X-Broker-Producer-Token": header_token("--producer-token", publisher.producer_token or ""),
        "X-Broker-Channel-Token": header_token("--channel-token", publisher.channel_token or ""),
    }


def _outcome(result: Json) -> Outcome:
    return refusal_of(result) if "code" in result else Published(result["messageId"], result["location"])


def _last_segment(address: str) -> str:
    return unquote(address.rpartition("/")[2])
