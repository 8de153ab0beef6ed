"""Managing channels."""

from broker.domain.changes import Change, Raw, parse_channel_change
from broker.domain.errors import InUse, NotFound
from broker.domain.names import check_public_id
from broker.domain.pages import Cursor, Page
from broker.domain.preconditions import Preconditions
from broker.domain.registry import Channel
from broker.operations.dead_channels import dead_channel_column
from broker.operations.parts import Parts
from broker.operations.saving import Saved, given_columns, save, settings_column, token_columns
from broker.store import channels as store
from broker.store import consumers
from broker.store.engine import Connection
from broker.store.sweeping import sweep

_NEW = {"settings": "{}", "paused": False}


def put_channel(parts: Parts, channel_id: str, raw: Raw, only_if: Preconditions) -> Saved[Channel]:
    """Create it, or change what is given."""
    check_public_id("channelId", channel_id)
    change = parse_channel_change(raw)
    saved = save(lambda: parts.database.write("put channel", lambda c: _put(c, channel_id, change, only_if)))
    parts.cache.channels.forget(channel_id)
    return saved


def list_channels(parts: Parts, cursor: Cursor | None, limit: int) -> Page[str]:
    """Ids, newest first."""
    return parts.database.read("list channels", lambda c: store.page(c, cursor, limit))


def delete_channel(parts: Parts, channel_id: str, only_if: Preconditions, force: bool) -> None:
    """Remove it with its messages; with `force` also with its consumers."""
    parts.database.write("delete channel", lambda c: _delete(c, channel_id, only_if, force))
    parts.cache.channels.forget(channel_id)
    sweep(parts.database)


def _put(connection: Connection, channel_id: str, change: Change, only_if: Preconditions) -> Saved[Channel]:
    locked = store.lock(connection, channel_id, str(change.get("deadChannel") or channel_id))
    held = store.find(connection, channel_id) if channel_id in locked else None
    made: dict[str, str] = {}
    columns = {
        **token_columns(change, held is None, made),
        **given_columns(change, "name", "paused"),
        **settings_column(change, held.overrides if held else {}),
        **dead_channel_column(connection, change, locked, channel_id),
    }
    if held is None:
        only_if.check_absent()
        store.create(connection, channel_id, {**_NEW, "name": channel_id, **columns})
    else:
        only_if.check(held.revision, held.changed_at)
        if columns:
            store.change(connection, held.key, columns)
    return Saved(found(store.find(connection, channel_id), channel_id), made)


def _delete(connection: Connection, channel_id: str, only_if: Preconditions, force: bool) -> None:
    store.lock(connection, channel_id)
    channel = found(store.find(connection, channel_id), channel_id)
    only_if.check(channel.revision, channel.changed_at)
    if store.is_dead_channel(connection, channel.key):
        raise InUse("Other channels or consumers send their dead here. Give them another dead channel first.")
    theirs = consumers.keys_of(connection, channel.key)
    if theirs and not force:
        raise InUse(f"The channel has {len(theirs)} consumers. Delete them first, or repeat with force=true.")
    for key in theirs:
        consumers.bury(connection, key)
    store.bury(connection, channel.key)


def found(channel: Channel | None, channel_id: str) -> Channel:
    """The channel, or NotFound."""
    if channel is None:
        raise NotFound(f"There is no channel {channel_id!r}.")
    return channel
