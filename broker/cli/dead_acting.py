"""Acts on dead jobs that are named: what was done to each, what was passed over, what is not there."""

from collections.abc import Callable, Sequence

from broker.cli.backend import Backend, Ids, Json
from broker.cli.errors import in_words
from broker.domain.acts import XID_LENGTH, check_prefix
from broker.domain.errors import BrokerError, NotDead, NotFound
from broker.domain.states import JobStatus
from broker.operations.job_acts import ActOutcome, ActResult
from broker.operations.show_jobs import show_outcomes

Act = Callable[[str], None]


class NamedDead:
    """Jobs of one consumer, each by its id or the unique start of it."""

    def __init__(self, backend: Backend, ids: Ids) -> None:
        self._backend, self._ids = backend, ids

    def act(self, act: Act, names: Sequence[str]) -> Json:
        """Every job once, in the order given. A start that fits several refuses all before anything is done."""
        checked = [check_prefix("job", name) for name in names]
        self._backend.consumers.get(self._ids)
        resolved = {name: self._resolve(name) for name in checked}
        once = {job_id or name: job_id for name, job_id in resolved.items()}
        return show_outcomes([self._outcome(act, name, job_id) for name, job_id in once.items()])

    def _resolve(self, name: str) -> str | None:
        if len(name) == XID_LENGTH:
            return name
        found = self._find(name)
        return None if found is None else str(found["id"])

    def _outcome(self, act: Act, name: str, job_id: str | None) -> ActOutcome:
        if job_id is None:
            return ActOutcome(name, ActResult.NOT_FOUND)
        try:
            act(job_id)
        except (NotDead, NotFound) as refusal:
            return self._refused(job_id, refusal)
        return ActOutcome(job_id, ActResult.DONE)

    def _refused(self, job_id: str, refusal: BrokerError) -> ActOutcome:
        found = self._find(job_id)
        if found is None or (found["channelId"], found["consumerId"]) != self._ids:
            return ActOutcome(job_id, ActResult.NOT_FOUND)
        status = found["status"]
        reason = in_words(refusal) if status == JobStatus.DEAD.name else f"it is {status.lower()}"
        return ActOutcome(job_id, ActResult.SKIPPED, reason)

    def _find(self, name: str) -> Json | None:
        try:
            return self._backend.jobs.get(name)
        except NotFound:
            return None
