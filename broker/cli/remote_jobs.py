"""Jobs of a running broker."""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from broker.cli.backend import Json
from broker.cli.server import Server
from broker.domain.acts import MOST_JOBS, check_prefix
from broker.domain.pages import MOST
from broker.operations.places import consumer_place

_COUNTS = ("done", "skipped", "notFound")


class RemoteJobs:
    """Asks the server, as the admin."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def get(self, job_id: str) -> Json:
        path = f"/admin/job/{quote(check_prefix('jobId', job_id))}"
        return self._server.document(self._server.ask("GET", path), "history")

    def list_jobs(self, channel_id: str, consumer_id: str, state: str) -> Iterator[Json]:
        path: str | None = f"{consumer_place(channel_id, consumer_id, 'jobs')}?limit={MOST}&state={quote(state)}"
        while path is not None:
            page = self._server.document(self._server.ask("GET", path), "pages")
            yield from page["result"]
            path = page["pages"].get("next")

    def act(self, act: str, ids: Sequence[str], force: bool) -> Json:
        """In as few requests as the server takes."""
        checked = [check_prefix("job", one) for one in ids]
        parts = [checked[at : at + MOST_JOBS] for at in range(0, len(checked), MOST_JOBS)]
        answers = [self._act(act, part, force) for part in parts]
        results = [result for answer in answers for result in answer["results"]]
        return {"results": results, **{name: sum(answer[name] for answer in answers) for name in _COUNTS}}

    def _act(self, act: str, ids: Sequence[str], force: bool) -> Json:
        answer = self._server.ask("POST", f"/admin/jobs/{act}", {"jobs": list(ids), "force": force})
        return self._server.document(answer, "results")
