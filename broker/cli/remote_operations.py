"""Operations of a running broker."""

import time
from collections.abc import Iterator

from broker.cli.backend import Json
from broker.cli.server import Server
from broker.domain.errors import NotFound
from broker.domain.pages import MOST

WAIT_SECONDS = 0.3


class RemoteOperations:
    """Asks the server, as the admin."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def list_operations(self) -> Iterator[Json]:
        path: str | None = f"/admin/operations?limit={MOST}"
        while path is not None:
            page = self._server.document(self._server.ask("GET", path), "pages")
            yield from page["result"]
            path = page["pages"].get("next")

    def work_on(self, operation: Json) -> Json:
        """The server works; this waits."""
        time.sleep(WAIT_SECONDS)
        return self._server.document(self._server.ask("GET", _place(operation)), "state")

    def cancel(self, operation: Json) -> Json:
        return self._server.document(self._server.ask("POST", f"{_place(operation)}/cancel"), "state")


def _place(operation: Json) -> str:
    if operation["operationUrl"] is None:
        raise NotFound(f"The consumer of operation {operation['id']!r} is deleted, and its jobs with it.")
    return str(operation["operationUrl"])
