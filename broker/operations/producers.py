"""Managing producers."""

from broker.domain.changes import Change, Raw, parse_producer_change
from broker.domain.errors import NotFound, Unavailable
from broker.domain.names import check_public_id
from broker.domain.pages import Cursor, Page
from broker.domain.preconditions import Preconditions
from broker.domain.registry import Producer
from broker.domain.tokens import hash_token, make_token
from broker.operations.parts import Parts
from broker.operations.saving import Saved, given_columns, save, token_columns
from broker.store import producers as store
from broker.store.engine import Connection, Duplicate

IMPORTER = "import"
RACES = 5


def put_producer(parts: Parts, producer_id: str, raw: Raw, only_if: Preconditions) -> Saved[Producer]:
    """Create it, or change what is given."""
    check_public_id("producerId", producer_id)
    change = parse_producer_change(raw)
    saved = save(lambda: parts.database.write("put producer", lambda c: _put(c, producer_id, change, only_if)))
    parts.cache.producers.forget(producer_id)
    return saved


def get_producer(parts: Parts, producer_id: str) -> Producer:
    """The producer of this id."""
    producer = parts.database.read("find producer", lambda c: store.find(c, producer_id))
    return _found(producer, producer_id)


def list_producers(parts: Parts, cursor: Cursor | None, limit: int) -> Page[str]:
    """Ids, newest first."""
    return parts.database.read("list producers", lambda c: store.page(c, cursor, limit))


def delete_producer(parts: Parts, producer_id: str, only_if: Preconditions) -> None:
    """It can publish no more; its messages still name it."""

    def work(connection: Connection) -> None:
        producer = _found(store.find(connection, producer_id, lock=True), producer_id)
        only_if.check(producer.revision, producer.changed_at)
        store.bury(connection, producer.key)

    parts.database.write("delete producer", work)
    parts.cache.producers.forget(producer_id)


def importer(parts: Parts) -> Producer:
    """In whose name messages are kept that came by import; made when it is first needed, with a token nobody knows."""
    for _ in range(RACES):
        found = parts.database.read("find importer", lambda c: store.find(c, IMPORTER))
        if found is not None:
            return found
        try:
            parts.database.write("make importer", _make_importer)
        except Duplicate:
            continue
    raise Unavailable(f"Producer {IMPORTER!r} is made and deleted at the same time. Send it again in a moment.")


def _make_importer(connection: Connection) -> None:
    store.create(connection, IMPORTER, {"name": "Import", "tokenHash": hash_token(make_token())})


def _put(connection: Connection, producer_id: str, change: Change, only_if: Preconditions) -> Saved[Producer]:
    held = store.find(connection, producer_id, lock=True)
    made: dict[str, str] = {}
    columns = {**token_columns(change, held is None, made), **given_columns(change, "name")}
    if held is None:
        only_if.check_absent()
        store.create(connection, producer_id, {"name": producer_id, **columns})
    else:
        only_if.check(held.revision, held.changed_at)
        if columns:
            store.change(connection, held.key, columns)
    return Saved(_found(store.find(connection, producer_id), producer_id), made)


def _found(producer: Producer | None, producer_id: str) -> Producer:
    if producer is None:
        raise NotFound(f"There is no producer {producer_id!r}.")
    return producer
