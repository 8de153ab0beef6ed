"""Calls that publish, read messages, take scheduled ones back, and let time pass."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.properties import strategies as some
from tests.properties.registry_rules import RegistryRules
from tests.properties.sides import Call, message_path, own_tokens, path_of

NAMES = {
    "messageId": "X-Broker-Message-ID",
    "scheduledFor": "X-Broker-Scheduled-For",
    "expiresAt": "X-Broker-Expires-At",
    "priority": "X-Broker-Message-Priority",
    "hopCount": "X-Broker-Hop-Count",
    "metadata": "X-Broker-Metadata",
    "contentType": "Content-Type",
}
CARRIED = {"X-Broker-Metadata-Headers": "X-Shop, x-none", "X-Shop": "Ümlaut 🙂"}


class PublishingRules(RegistryRules):
    """Messages, to whatever registry there is by then."""

    @rule(channel=some.channel_ids, message_id=some.message_ids, body=some.bodies)
    def broadcast(self, channel: str, message_id: str, body: bytes) -> None:
        self._broadcast(channel, "p", body, {"messageId": message_id})

    @rule(
        channel=some.channel_ids, producer=some.producer_ids, body=some.bodies, fields=some.publications,
        carried=st.booleans(), trust=some.trusts,
    )  # fmt: skip
    def broadcast_in_detail(
        self, channel: str, producer: str, body: bytes, fields: some.Json, carried: bool, trust: str
    ) -> None:
        self._broadcast(channel, producer, body, fields, CARRIED if carried else {}, trust)

    @rule(channel=some.channel_ids, items=some.batches, lines=st.booleans())
    def broadcast_batch(self, channel: str, items: list[some.Json], lines: bool) -> None:
        sent = [self._with_moments(item) for item in items]
        body = "\n".join(map(json.dumps, sent)) if lines else json.dumps({"messages": sent})
        headers = {"Content-Type": "application/x-ndjson" if lines else "application/json"}
        answer = self.pair.send(_publish(channel, "p", "broadcast-batch", body.encode(), headers, "right"))
        self.model.batch_published(channel, items, answer)

    @rule(which=some.indexes, raw=st.booleans(), own=st.booleans())
    def get_message(self, which: int, raw: bool, own: bool) -> None:
        channel, message_id = self.model.some_message(which)
        shows, query = own_tokens("channel", channel) if own else ("admin",), {"raw": "true"} if raw else {}
        self.pair.send(Call("GET", message_path(channel, message_id), shows, query=query))
        self.pair.send(Call("GET", message_path(channel, message_id, "scheduled-message"), shows))

    @rule(channel=some.channel_ids, status=st.sampled_from(["101", "102", "103"]), limit=some.limits)
    def read_messages(self, channel: str, status: str, limit: str) -> None:
        self.pair.follow(path_of("channel", channel, "messages"), {"status": status, "limit": limit})
        self.pair.send(Call("GET", path_of("channel", channel, "messages-status")))

    @rule(which=some.indexes)
    def delete_scheduled(self, which: int) -> None:
        call = Call("DELETE", message_path(*self.model.some_message(which), "scheduled-message"))
        self.model.deleted(call, self.pair.send(call))

    @rule(hours=st.integers(1, 3))
    def time_passes(self, hours: int) -> None:
        self.pair.advance(timedelta(hours=hours))

    def _broadcast(
        self,
        channel: str,
        producer: str,
        body: bytes,
        fields: some.Json,
        more: Mapping[str, str] = MappingProxyType({}),
        trust: str = "right",
    ) -> None:
        headers = {**self._headers(fields), **more}
        answer = self.pair.send(_publish(channel, producer, "broadcast", body, headers, trust))
        self.model.published(channel, fields.get("messageId"), answer)

    def _headers(self, fields: some.Json) -> dict[str, str]:
        given = {name: value for name, value in self._with_moments(fields).items() if value is not None}
        texts = {name: json.dumps(value) if name == "metadata" else str(value) for name, value in given.items()}
        return {NAMES[name]: text for name, text in texts.items()}

    def _with_moments(self, fields: some.Json) -> some.Json:
        return {name: self._moment(value) for name, value in fields.items()}

    def _moment(self, value: object) -> object:
        """A distance from now becomes a time."""
        if isinstance(value, timedelta):
            value = self.pair.now() + value
        return self.pair.give(value) if isinstance(value, datetime) else value


def _publish(channel: str, producer: str, form: str, body: bytes, headers: dict[str, str], trust: str) -> Call:
    shown = own_tokens("channel", channel) + own_tokens("producer", producer)
    headers = {**headers, "X-Broker-Producer-ID": producer}
    if trust == "wrong":
        headers["X-Broker-Producer-Token"] = "wrong"
    shown = shown if trust == "right" else shown[:1]
    return Call("POST", path_of("channel", channel, form), shown, headers, body=body)
