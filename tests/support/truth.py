"""The dead-letter summary against the truth, which is counted job by job; for moments in which nobody writes."""

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.engine import RowMapping

from broker.dlq.auditor import Audit, Auditor
from broker.operations.dlq_status import read_status
from broker.operations.parts import Parts

_MINE = "SELECT COUNT(*) FROM job j WHERE j.consumerId = s.consumerId AND j.status = 1004"
_TRUTH = (
    f"SELECT s.consumerId, s.dead_count AS told, ({_MINE} AND j.statusChangedAt <= s.last_checked_at) AS counted,"
    f" ({_MINE}) AS dead, s.died_total - s.requeued_total - s.deleted_total - s.archived_total - s.moved_total AS rest"
    " FROM dlq_summary s JOIN consumer c ON c.id = s.consumerId WHERE c.consumerId IS NOT NULL ORDER BY s.consumerId"
)
_TORN = (
    "SELECT id, status, statusChangedAt, deadAt FROM job WHERE (status = 1004 AND deadAt <> statusChangedAt)"
    " OR (status = 1004) <> (deadAt IS NOT NULL)"
)


def truth(parts: Parts) -> Sequence[RowMapping]:
    """Of each consumer: what is stored, what should be, how many are dead, and what its totals leave over."""
    return parts.database.read("test", lambda c: c.execute(text(_TRUTH)).mappings().all())


def assert_exact(parts: Parts) -> int:
    """Stored, live and balanced are what the jobs say, for every consumer; gives how many are dead."""
    found = truth(parts)
    off = [dict(row) for row in found if not row["told"] == row["counted"] == row["rest"]]
    assert not off, f"the summary is off: {off}"
    live, real = (
        {one.place.key: one.count.dead for one in read_status(parts)},
        {r["consumerId"]: r["dead"] for r in found},
    )
    assert live == real, f"the live answer is {live}, but dead are {real}"
    torn = parts.database.read("test", lambda c: c.execute(text(_TORN)).all())
    assert not torn, f"status and deadAt disagree: {torn}"
    return sum(real.values())


def audit(parts: Parts) -> Audit:
    """A full recount without a breath in between."""
    return Auditor(parts, pause=0).run()
