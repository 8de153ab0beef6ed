"""The dead of the database itself."""

from collections.abc import Iterator, Sequence

from broker.cli.backend import Ids, Json, Selection, Watch
from broker.cli.local_jobs import who
from broker.dlq.auditor import Auditor
from broker.dlq.show_audit import show_audit
from broker.domain.dead_selection import DeadAct, parse_dead_filter
from broker.domain.errors import judged
from broker.domain.import_parsing import parse_import
from broker.domain.pages import MOST, Cursor
from broker.domain.registry import Consumer
from broker.domain.replay import parse_replay
from broker.operations import bulk, dead_jobs, dead_lists, exporting, replay
from broker.operations.access import Credentials, open_consumer
from broker.operations.dlq_measures import status_text
from broker.operations.dlq_status import read_status_now
from broker.operations.importing import ImportOutcome, import_jobs
from broker.operations.parts import Parts
from broker.operations.replay_preview import preview, show_preview
from broker.operations.show_dlq import show_operation, show_status
from broker.operations.show_jobs import show_listed_job


class LocalDeadLetters:
    """Calls the operations that the API calls, in the name of who runs the command."""

    def __init__(self, parts: Parts, admin: Credentials) -> None:
        self._parts, self._admin = parts, admin

    def status(self, channel_id: str | None, consumer_id: str | None) -> Json:
        return show_status(read_status_now(self._parts, channel_id, consumer_id))

    def status_text(self, channel_id: str | None, consumer_id: str | None) -> str:
        return status_text(self._parts, channel_id, consumer_id)

    def list_dead(self, ids: Ids, selection: Selection, oldest: bool) -> Iterator[Json]:
        consumer, wanted, cursor = self._consumer(ids), parse_dead_filter(selection), None
        while True:
            page = dead_lists.list_dead_jobs(self._parts, consumer, wanted, not oldest, cursor, MOST)
            yield from map(show_listed_job, page.rows)
            if page.next is None:
                return
            cursor = Cursor(page.next)

    def requeue(self, ids: Ids, job_id: str) -> None:
        dead_jobs.requeue_dead_job(self._parts, self._consumer(ids), job_id, who())

    def delete(self, ids: Ids, job_id: str, force: bool) -> None:
        dead_jobs.delete_dead_job(self._parts, self._consumer(ids), job_id, who(), force)

    def start(self, ids: Ids, act: DeadAct, selection: Selection, force: bool) -> Json:
        wanted = parse_dead_filter(selection)
        return show_operation(bulk.start(self._parts, self._consumer(ids), act, wanted, who(), force))

    def export(self, ids: Ids, selection: Selection) -> Iterator[Json]:
        consumer, wanted, cursor = self._consumer(ids), parse_dead_filter(selection), None
        while True:
            page = exporting.export_dead_jobs(self._parts, consumer, wanted, cursor, MOST)
            yield from map(exporting.show_export, page.rows)
            if page.next is None:
                return
            cursor = Cursor(page.next)

    def take_in(self, ids: Ids, items: Sequence[Json]) -> list[ImportOutcome]:
        parsed = [judged(item, parse_import) for item in items]
        return import_jobs(self._parts, self._consumer(ids), parsed, who())

    def replay(self, ids: Ids, wish: Json) -> Json:
        channel_id, consumer_id = ids
        asked = replay.ask(self._parts, self._admin, channel_id, consumer_id, parse_replay(wish))
        if asked.wish.dry_run:
            return show_preview(asked, preview(self._parts, asked))
        return show_operation(replay.start(self._parts, asked, who()))

    def audit(self, repair: bool, watch: Watch) -> Json:
        return show_audit(self._parts, Auditor(self._parts).run(repair, watch))

    def _consumer(self, ids: Ids) -> Consumer:
        return open_consumer(self._parts, self._admin, *ids)
