"""Operations of the database itself: this process works on them, beside any broker that does."""

import time
from collections.abc import Iterator

from broker.cli.backend import Json
from broker.domain.dead_selection import OperationState
from broker.domain.pages import MOST, Cursor
from broker.operations import bulk
from broker.operations.parts import Parts
from broker.operations.show_dlq import show_operation

WORK_SECONDS, WAIT_SECONDS = 0.3, 0.2


class LocalOperations:
    """Calls the operations that the API calls."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def list_operations(self) -> Iterator[Json]:
        cursor: Cursor | None = None
        while True:
            page = bulk.list_operations(self._parts, cursor, MOST)
            yield from map(show_operation, page.rows)
            if page.next is None:
                return
            cursor = Cursor(page.next)

    def work_on(self, operation: Json) -> Json:
        """Where another works on it, there is nothing to do but wait."""
        found = bulk.run(self._parts, operation["id"], WORK_SECONDS)
        came_on = (found.done, found.skipped) != (operation["done"], operation["skipped"])
        if found.state is OperationState.RUNNING and not came_on:
            time.sleep(WAIT_SECONDS)
        return show_operation(found)

    def cancel(self, operation: Json) -> Json:
        return show_operation(bulk.cancel(self._parts, operation["id"]))
