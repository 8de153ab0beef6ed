"""A filled database in the middle of its work: jobs due and not, batches leased and lost, lives that have ended."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, text

from broker.delivery.claims import BATCH, Claims
from broker.delivery.outlets import Share
from broker.delivery.pace import Pace
from broker.delivery.turns import Turns
from broker.domain.states import JobStatus
from broker.operations.finishing import Report
from broker.operations.parts import Parts
from broker.store.tables import dlq_summary, job, job_expiry, lease
from tests.integration.plans import BUSY_CONSUMER, CONSUMERS, NOW, Filled, Plan
from tests.support.brokers import make_broker
from tests.support.server import Server

LEASES = 30
ANALYZE = text("ANALYZE TABLE job, job_expiry, lease, dlq_summary")


@dataclass(frozen=True)
class Working:
    """The database, the parts of an engine on it, and the jobs of the busy consumer that are leased, by token."""

    filled: Filled
    parts: Parts
    held: dict[str, list[str]]
    payload: str

    @property
    def token(self) -> str:
        """The first lease, which is as large as they get."""
        return next(iter(self.held))

    def reports(self, answer: object, rejected: bool = False) -> list[Report]:
        """The same answer for every job of that lease."""
        ids = self.held[self.token]
        return [Report(one, self.token, BUSY_CONSUMER, answer, rejected=rejected) for one in ids]  # type: ignore[arg-type]

    def claim(self, connection: Connection, *lanes: tuple[int, int], most: int = BATCH) -> list[str]:
        """What the engine does to claim from these lanes; gives the ids."""
        wanted = [(lane, most) for lane in lanes]
        token = self.parts.ids.new()
        jobs, _ = Claims(self.parts, "test", Pace(Turns(Share())))._claim(connection, token, wanted, 60.0)
        return [one.id for one in jobs]


@contextmanager
def working(server: Server, size: int) -> Iterator[Working]:
    """A database of this size; it is dropped at the end."""
    url = server.create_database()
    filled, broker = Filled(url, size), make_broker(url, upgrade=False)
    held = filled.database.write("leases", _lease_some)
    filled.database.write("expiry", _let_some_expire)
    filled.database.write("analyze", lambda c: c.execute(ANALYZE).all())
    yield Working(filled, broker.parts, held, filled.keys[size // 2])
    broker.parts.database.dispose()
    filled.database.dispose()
    server.drop_database(url)


def plans_of(work: Working, plans: list[Plan]) -> list[Plan]:
    """Without inserts of values, which have no plan, and the question for the time."""
    return [one for one in plans if not one.statement.startswith(("INSERT", "SELECT NOW"))]


def _lease_some(connection: Connection) -> dict[str, list[str]]:
    """Up to thirty batches, every other one shared between consumers; all of them have ended."""
    mine = select(job.c.id).where(job.c.status == JobStatus.QUEUED, job.c.consumerId == BUSY_CONSUMER)
    ids = list(connection.execute(mine.order_by(job.c.id)).scalars())
    ids = ids[: min(len(ids) // 2, LEASES * BATCH)]
    held = {}
    for number, at in enumerate(range(0, len(ids), BATCH)):
        token = f"{number:019d}0"
        held[token] = ids[at : at + BATCH]
        _lease(connection, token, held[token], BUSY_CONSUMER if number % 2 else 0)
    return held


def _lease(connection: Connection, token: str, ids: list[str], key: int) -> None:
    listed = "','".join(ids)
    changed = f"status = 1002, leaseToken = '{token}', earliestNextAttemptAt = NULL"
    connection.exec_driver_sql(f"UPDATE job SET {changed} WHERE id IN ('{listed}')")
    made = {"token": token, "consumerId": key, "owner": "o", "expiresAt": NOW, "jobIds": "".join(ids)}
    connection.execute(insert(lease), [made])


def _let_some_expire(connection: Connection) -> None:
    """Every fifth job is past its time."""
    connection.execute(text("UPDATE job SET expiresAt = createdAt WHERE CRC32(id) % 5 = 0"))
    late = select(job.c.expiresAt, job.c.id).where(job.c.expiresAt.is_not(None))
    connection.execute(insert(job_expiry).from_select(["expiresAt", "jobId"], late))
    names = {"consumerName": "name", "channelId": "channel", "channelName": "name", "last_checked_at": NOW}
    connection.execute(insert(dlq_summary), [{**names, "consumerId": key} for key in CONSUMERS])
