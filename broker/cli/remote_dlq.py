"""The dead of a running broker."""

from collections.abc import Iterator, Sequence
from functools import partial
from http.client import CREATED
from urllib.parse import quote, urlencode

from broker.cli.backend import Ids, Json, Selection, Watch
from broker.cli.halving import in_halves
from broker.cli.problems import refusal_of
from broker.cli.server import Server
from broker.domain.dead_selection import DeadAct
from broker.domain.exposition import CONTENT_TYPE
from broker.domain.pages import MOST
from broker.operations.importing import Imported, ImportOutcome
from broker.operations.places import consumer_place

AUDIT_SECONDS = 3600.0
MONITOR_HINT = "Give the monitor token or the admin token with --token or BROKER_TOKEN."


class RemoteDeadLetters:
    """Asks the server, as the admin."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def status(self, channel_id: str | None, consumer_id: str | None) -> Json:
        path = _status_path(channel_id, consumer_id)
        return self._server.document(self._server.ask("GET", path, hint=MONITOR_HINT), "consumers")

    def status_text(self, channel_id: str | None, consumer_id: str | None) -> str:
        return self._server.text(_status_path(channel_id, consumer_id), CONTENT_TYPE, MONITOR_HINT)

    def list_dead(self, ids: Ids, selection: Selection, oldest: bool) -> Iterator[Json]:
        query = {**selection, "order": "oldest" if oldest else "newest", "limit": str(MOST)}
        path: str | None = _with(consumer_place(*ids, "dlq"), query)
        while path is not None:
            page = self._server.document(self._server.ask("GET", path), "deadJobs")
            yield from page["deadJobs"]
            path = page["pages"].get("next")

    def requeue(self, ids: Ids, job_id: str) -> None:
        self._server.ask("POST", consumer_place(*ids, "job", job_id, "requeue-dead-job"))

    def delete(self, ids: Ids, job_id: str, force: bool) -> None:
        self._server.ask("DELETE", _with(consumer_place(*ids, "job", job_id), _forced(force)))

    def start(self, ids: Ids, act: DeadAct, selection: Selection, force: bool) -> Json:
        method = "DELETE" if act is DeadAct.DELETE else "POST"
        below = (act.value,) if act in (DeadAct.ARCHIVE, DeadAct.MOVE) else ()
        path = _with(consumer_place(*ids, "dlq", *below), {**selection, **_forced(force)})
        answer = self._server.document(self._server.ask(method, path), "operation")
        operation: Json = answer["operation"]
        return operation

    def export(self, ids: Ids, selection: Selection) -> Iterator[Json]:
        path: str | None = _with(consumer_place(*ids, "dlq", "export"), {**selection, "limit": str(MOST)})
        while path is not None:
            page = self._server.document(self._server.ask("GET", path), "jobs")
            yield from page["jobs"]
            path = page["pages"].get("next")

    def take_in(self, ids: Ids, items: Sequence[Json]) -> list[ImportOutcome]:
        return in_halves(partial(self._take_in, ids), items)

    def replay(self, ids: Ids, wish: Json) -> Json:
        channel_id, consumer_id = ids
        path = _with(f"/admin/dlq/{quote(consumer_id, safe='')}/replay", {"channel": channel_id})
        if wish.get("dryRun"):
            return self._server.document(self._server.ask("POST", path, wish), "replayable")
        operation: Json = self._server.document(self._server.ask("POST", path, wish), "operation")["operation"]
        return operation

    def audit(self, repair: bool, watch: Watch) -> Json:
        """The server counts, and says nothing until it is done."""
        answer = self._server.ask("POST", "/admin/dlq/audit", {"repair": repair}, seconds=AUDIT_SECONDS)
        return self._server.document(answer, "findings")

    def _take_in(self, ids: Ids, items: Sequence[Json]) -> list[ImportOutcome]:
        answer = self._server.ask("POST", consumer_place(*ids, "import"), {"jobs": list(items)})
        return [_outcome(result) for result in self._server.document(answer, "results")["results"]]


def _outcome(result: Json) -> ImportOutcome:
    if "code" in result:
        return refusal_of(result)
    return Imported(result["jobId"], result["location"], created=result["status"] == CREATED)


def _status_path(channel_id: str | None, consumer_id: str | None) -> str:
    given = {"channel": channel_id, "consumer": consumer_id}
    return _with("/dlq-status", {name: value for name, value in given.items() if value is not None})


def _with(path: str, query: Selection) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _forced(force: bool) -> dict[str, str]:
    return {"force": "true"} if force else {}
