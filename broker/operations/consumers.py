"""Managing consumers."""

import base64
import secrets
from collections.abc import Mapping
from typing import Any

from broker.domain.changes import Change, Raw, parse_consumer_change
from broker.domain.errors import InUse, Invalid, NotFound, UnfinishedJobs
from broker.domain.names import check_public_id
from broker.domain.pages import Cursor, Page
from broker.domain.preconditions import Preconditions
from broker.domain.registry import Channel, Consumer
from broker.domain.states import ConsumerType
from broker.operations.channels import found as found_channel
from broker.operations.dead_channels import BUILT_IN_CONSUMER, dead_channel_column
from broker.operations.parts import Parts
from broker.operations.saving import Saved, given_columns, save, settings_column, token_columns
from broker.store import channels
from broker.store import consumers as store
from broker.store.engine import Connection
from broker.store.sweeping import sweep

_NEW = {"settings": "{}", "paused": False, "builtIn": False}
_SECRET_BYTES = 24


def put_consumer(parts: Parts, channel_id: str, consumer_id: str, raw: Raw, only_if: Preconditions) -> Saved[Consumer]:
    """Create it, or change what is given."""
    check_public_id("channelId", channel_id)
    check_public_id("consumerId", consumer_id)
    change = parse_consumer_change(raw)
    work = _Put(parts, channel_id, consumer_id, change, only_if)
    return save(lambda: parts.database.write("put consumer", work))


def list_consumers(parts: Parts, channel: Channel, cursor: Cursor | None, limit: int) -> Page[str]:
    """Ids, newest first."""
    return parts.database.read("list consumers", lambda c: store.page(c, channel.key, cursor, limit))


def delete_consumer(parts: Parts, channel_id: str, consumer_id: str, only_if: Preconditions, force: bool) -> None:
    """Remove it with its jobs; refused while there are unfinished ones, unless forced."""

    def work(connection: Connection) -> None:
        channels.lock(connection, channel_id)
        consumer = _found(store.find(connection, channel_id, consumer_id), channel_id, consumer_id)
        only_if.check(consumer.revision, consumer.changed_at)
        if consumer.id == BUILT_IN_CONSUMER and channels.is_dead_channel(connection, consumer.channel_key):
            raise InUse("It is the built-in consumer of a dead channel that is in use.")
        if not force:
            _refuse_unfinished(connection, consumer)
        store.bury(connection, consumer.key)

    if not force:
        parts.database.read("count unfinished", lambda c: _refuse_unfinished(c, store.find(c, channel_id, consumer_id)))
    parts.database.write("delete consumer", work)
    sweep(parts.database)


def _refuse_unfinished(connection: Connection, consumer: Consumer | None) -> None:
    left = 0 if consumer is None else store.unfinished(connection, consumer.key)
    if left:
        raise UnfinishedJobs(
            f"The consumer has {left} unfinished jobs. Wait for them, or repeat with force=true to drop them.",
            unfinishedJobs=left,
        )


class _Put:
    """Creates or changes one consumer, in a transaction that has locked its channel and its dead channel."""

    def __init__(self, parts: Parts, channel_id: str, consumer_id: str, change: Change, only_if: Preconditions) -> None:
        self.parts, self.channel_id, self.consumer_id = parts, channel_id, consumer_id
        self.change, self.only_if = change, only_if

    def __call__(self, connection: Connection) -> Saved[Consumer]:
        locked = channels.lock(connection, self.channel_id, str(self.change.get("deadChannel") or self.channel_id))
        held_channel = channels.find(connection, self.channel_id) if self.channel_id in locked else None
        channel = found_channel(held_channel, self.channel_id)
        held = store.find(connection, self.channel_id, self.consumer_id)
        if held is None:
            self.only_if.check_absent()
        self._check_reachable(held)
        made: dict[str, str] = {}
        columns = self._columns(connection, locked, held, made)
        if held is None:
            store.create(connection, channel, self.consumer_id, {**_NEW, "name": self.consumer_id, **columns})
        else:
            self.only_if.check(held.revision, held.changed_at)
            if columns:
                store.change(connection, held.key, columns)
        return Saved(
            _found(store.find(connection, self.channel_id, self.consumer_id), self.channel_id, self.consumer_id), made
        )

    def _columns(
        self, connection: Connection, locked: Mapping[str, int], held: Consumer | None, made: dict[str, str]
    ) -> dict[str, Any]:
        change = self.change
        kind = {} if held is not None and "type" not in change.fields else {"type": self._type(held).value}
        return {
            **token_columns(change, held is None, made),
            **given_columns(change, "name", "paused", "callbackUrl"),
            **kind,
            **settings_column(change, held.overrides if held else {}),
            **dead_channel_column(connection, change, locked, self.channel_id),
            **self._secret_columns(connection, held, made),
            **self._own_token(held, made),
        }

    def _own_token(self, held: Consumer | None, made: Mapping[str, str]) -> dict[str, Any]:
        """A push carries the consumer's own token, so that it is kept readable, sealed where a key is configured."""
        token = self.change.get("token") or made.get("token")
        if token is None or self._type(held) is not ConsumerType.PUSH:
            return {}
        wanted = self.parts.settings.consumer_token_header is not None
        return {"sealedToken": self.parts.sealer.seal(str(token)) if wanted else None}

    def _type(self, held: Consumer | None) -> ConsumerType:
        return ConsumerType(str(self.change.get("type", held.type if held else ConsumerType.PUSH)))

    def _check_reachable(self, held: Consumer | None) -> None:
        url = self.change.get("callbackUrl", held.callback_url if held else None)
        if self._type(held) is ConsumerType.PUSH and url is None:
            raise Invalid.field("callbackUrl", "is needed for a push consumer; or give type pull")
        if held is not None and held.built_in and self._type(held) is ConsumerType.PUSH:
            raise Invalid.field("type", "must be pull: this is the built-in consumer of a dead channel")

    def _secret_columns(self, connection: Connection, held: Consumer | None, made: dict[str, str]) -> dict[str, Any]:
        """A new secret; the old one goes on signing beside it for a while."""
        secret = self.change.get("signingSecret")
        if secret is None and self._type(held) is ConsumerType.PUSH and not self._has_secret(connection, held):
            secret = made["signingSecret"] = _make_secret()
        if secret is None:
            return {}
        return store.secret_columns(connection, held, self.parts.sealer.seal(str(secret)))

    def _has_secret(self, connection: Connection, held: Consumer | None) -> bool:
        return held is not None and (held.type is ConsumerType.PUSH or store.has_secret(connection, held.key))


def _make_secret() -> str:
    """In the form of the Standard Webhooks specification."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def _found(consumer: Consumer | None, channel_id: str, consumer_id: str) -> Consumer:
    if consumer is None:
        raise NotFound(f"Channel {channel_id!r} has no consumer {consumer_id!r}.")
    return consumer
