"""Work on many dead jobs: what was asked, how far it is, and how it ended."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from broker.domain.dead_selection import DeadAct, OperationState
from broker.domain.pages import Cursor, Page
from broker.store.bulk import time_text
from broker.store.dead_ranges import Spot
from broker.store.moments import as_time
from broker.store.paging import Order, fetch_page
from broker.store.tables import channel, consumer
from broker.store.tables import operation as t
from broker.store.types import AnyRow, now

KEY = (datetime, str)
_QUERY = (
    select(t, consumer.c.consumerId.label("publicId"), channel.c.channelId.label("publicChannelId"))
    .outerjoin(consumer, consumer.c.id == t.c.consumerId)
    .outerjoin(channel, channel.c.id == consumer.c.channelId)
)


class Target(NamedTuple):
    """Another consumer, to which a replay goes."""

    key: int
    channel_id: str
    consumer_id: str


class Errand(NamedTuple):
    """What a replay has beside its filter: how many at most, where to, and the consumer at whom the moved wait."""

    limit: int | None = None
    target: Target | None = None
    waiting_at: int | None = None


NO_ERRAND = Errand()


@dataclass(frozen=True, slots=True)
class Operation:
    """One of them; without ids its consumer is deleted. `force`: also what may not be deleted otherwise."""

    id: str
    act: DeadAct
    state: OperationState
    consumer_key: int
    channel_id: str | None
    consumer_id: str | None
    until: datetime
    filter: dict[str, str]
    force: bool
    after: Spot | None
    total: int | None
    done: int
    skipped: int
    actor: str
    created_at: datetime
    changed_at: datetime
    errand: Errand = NO_ERRAND
    moved_after: str | None = None

    @property
    def left(self) -> int | None:
        """How many it may still do; None where there is no limit."""
        return None if self.errand.limit is None else self.errand.limit - self.done


def create(connection: Connection, operation: Operation) -> None:
    """Write down what was asked."""
    selection = {"until": time_text(operation.until), "filter": operation.filter, "force": operation.force,
                 "errand": operation.errand}  # fmt: skip
    values = {"kind": operation.act.value, "state": operation.state.value, "consumerId": operation.consumer_key,
              "selection": json.dumps(selection), "total": operation.total, "done": 0, "skipped": 0,
              "actor": operation.actor, "createdAt": now(), "changedAt": now()}  # fmt: skip
    connection.execute(insert(t).values(id=operation.id, **values))


def find(connection: Connection, operation_id: str, lock: bool = False) -> Operation | None:
    """One of them, locked where it is about to change. Primary key."""
    if lock:
        connection.execute(select(t.c.id).where(t.c.id == operation_id).with_for_update()).first()
    row = connection.execute(_QUERY.where(t.c.id == operation_id)).first()
    return None if row is None else _operation(row)


def advance(connection: Connection, operation_id: str, after: Spot, done: int, skipped: int) -> None:
    """How far it is now. Primary key."""
    _advance(connection, operation_id, f"{time_text(after.died_at)}|{after.job_id}", done, skipped)


def advance_moved(connection: Connection, operation_id: str, after: str, done: int, skipped: int) -> None:
    """How far it is among those that were moved. Primary key."""
    _advance(connection, operation_id, f"|{after}", done, skipped)


def _advance(connection: Connection, operation_id: str, cursor: str, done: int, skipped: int) -> None:
    more = {t.c.done: t.c.done + done, t.c.skipped: t.c.skipped + skipped, t.c.cursor: cursor, t.c.changedAt: now()}
    connection.execute(update(t).where(t.c.id == operation_id).values(more))


def end(connection: Connection, operation_id: str, state: OperationState) -> bool:
    """It runs no more; False when it did not run. Primary key."""
    running = update(t).where(t.c.id == operation_id, t.c.state == OperationState.RUNNING.value)
    return bool(connection.execute(running.values(state=state.value, changedAt=now())).rowcount)


def running(connection: Connection, most: int) -> Sequence[str]:
    """Those that are not done, the oldest first. Index: operation_by_state."""
    query = select(t.c.id).where(t.c.state == OperationState.RUNNING.value).order_by(t.c.id).limit(most)
    return connection.execute(query).scalars().all()


def page(connection: Connection, cursor: Cursor | None, limit: int) -> Page[Operation]:
    """All of them, newest first: ids of two processes say nothing about the order within a second. Index:
    operation_by_time."""
    keys = (t.c.createdAt, t.c.id)
    others = (c for c in _QUERY.selected_columns if c.name not in {key.name for key in keys})
    query = select(*keys, *others).select_from(*_QUERY.get_final_froms())
    return fetch_page(connection, query, Order(keys), cursor, limit, _operation)


def _operation(row: AnyRow) -> Operation:
    selection: dict[str, Any] = json.loads(row.selection)
    moment, _, job_id = (row.cursor or "").partition("|")
    return Operation(
        id=row.id,
        act=DeadAct(row.kind),
        state=OperationState(row.state),
        consumer_key=row.consumerId,
        channel_id=row.publicChannelId,
        consumer_id=row.publicId,
        until=as_time(selection["until"]),
        filter=selection["filter"],
        force=selection["force"],
        after=Spot(as_time(moment), job_id) if moment else None,
        total=row.total,
        done=row.done,
        skipped=row.skipped,
        actor=row.actor,
        created_at=row.createdAt,
        changed_at=row.changedAt,
        errand=_errand(*selection.get("errand", ())),
        moved_after=job_id if row.cursor is not None and not moment else None,
    )


def _errand(limit: int | None = None, target: Sequence[Any] | None = None, waiting_at: int | None = None) -> Errand:
    return Errand(limit, None if target is None else Target(*target), waiting_at)
