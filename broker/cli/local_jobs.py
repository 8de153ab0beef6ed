"""Jobs of the database itself."""

import getpass
from collections.abc import Iterator, Sequence

from broker.cli.backend import Json
from broker.domain.acts import ACTS, ActRequest, check_prefix
from broker.domain.pages import MOST, Cursor
from broker.operations import job_acts, jobs, show_jobs
from broker.operations.access import Credentials, open_consumer
from broker.operations.parts import Parts


class LocalJobs:
    """Calls the operations that the API calls, in the name of who runs the command."""

    def __init__(self, parts: Parts, admin: Credentials) -> None:
        self._parts, self._admin = parts, admin

    def get(self, job_id: str) -> Json:
        return show_jobs.show_job_full(jobs.get_any_job(self._parts, job_id))

    def list_jobs(self, channel_id: str, consumer_id: str, state: str) -> Iterator[Json]:
        consumer = open_consumer(self._parts, self._admin, channel_id, consumer_id)
        wanted, cursor = jobs.parse_filter(state), None
        while True:
            page = jobs.list_jobs(self._parts, consumer, wanted, cursor, MOST)
            yield from map(show_jobs.show_listed_job, page.rows)
            if page.next is None:
                return
            cursor = Cursor(page.next)

    def act(self, act: str, ids: Sequence[str], force: bool) -> Json:
        checked = tuple(check_prefix("job", one) for one in ids)
        wanted = ActRequest(ACTS[act], checked, who(), force)
        return show_jobs.show_outcomes(job_acts.act_on_jobs(self._parts, wanted))


def who() -> str:
    """Who runs the command, as histories name them."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):
        return "command line"
