"""Calls that publish, read messages, take scheduled ones back, and let time pass."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from broker.domain.times import show_time
from tests.properties import strategies as some
from tests.properties.registry_rules import RegistryRules
from tests.properties.sides import Answer, Call, message_path, own_tokens, path_of

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

    @rule(channel=some.indexes, message_id=some.message_ids, body=some.bodies)
    def broadcast(self, channel: int, message_id: str, body: bytes) -> None:
        self._broadcast(self.model.some_channel(channel), "p", body, {"messageId": message_id})

    @rule(channel=some.indexes, message_id=some.message_ids, at=some.soon)
    def schedule(self, channel: int, message_id: str, at: timedelta) -> None:
        fields = {"messageId": message_id, "scheduledFor": at}
        answer = self._broadcast(self.model.some_channel(channel), "p", b"later", fields)
        if answer.status == 201:
            shown = self.pair.send(Call("GET", answer.headers["Location"]))
            assert shown.body["dispatchSchedule"] == show_time(self.pair.now() + at), "the time was not kept"

    @rule(
        channel=some.indexes, producer=some.producer_ids, body=some.bodies, fields=some.publications,
        carried=st.booleans(), trust=some.trusts,
    )  # fmt: skip
    def broadcast_in_detail(
        self, channel: int, producer: str, body: bytes, fields: some.Json, carried: bool, trust: str
    ) -> None:
        more = CARRIED if carried else {}
        self._broadcast(self.model.some_channel(channel), producer, body, fields, more, trust)

    @rule(channel=some.indexes, items=some.batches, lines=st.booleans())
    def broadcast_batch(self, channel: int, items: list[some.Json], lines: bool) -> None:
        sent, name = [self._with_moments(item) for item in items], self.model.some_channel(channel)
        body = "\n".join(map(json.dumps, sent)) if lines else json.dumps({"messages": sent})
        headers = {"Content-Type": "application/x-ndjson" if lines else "application/json"}
        answer = self.pair.send(_publish(name, "p", "broadcast-batch", body.encode(), headers, "right"))
        self.model.batch_published(name, items, answer)

    @precondition(lambda self: self.model.messages)
    @rule(which=some.indexes, raw=st.booleans(), own=st.booleans())
    def get_message(self, which: int, raw: bool, own: bool) -> None:
        channel, message_id = self.model.some_message(which)
        shows, query = own_tokens("channel", channel) if own else ("admin",), {"raw": "true"} if raw else {}
        self.pair.send(Call("GET", message_path(channel, message_id), shows, query=query))
        self.pair.send(Call("GET", message_path(channel, message_id, "scheduled-message"), shows))

    @precondition(lambda self: self.model.messages)
    @rule(channel=some.indexes, status=st.sampled_from(["101", "102", "103"]), limit=some.limits)
    def read_messages(self, channel: int, status: str, limit: str) -> None:
        name = self.model.some_channel(channel)
        self.pair.follow(path_of("channel", name, "messages"), {"status": status, "limit": limit})
        self.pair.send(Call("GET", path_of("channel", name, "messages-status")))

    @precondition(lambda self: self.model.scheduled)
    @rule(which=some.indexes)
    def delete_scheduled(self, which: int) -> None:
        call = Call("DELETE", message_path(*self.model.some_scheduled(which), "scheduled-message"))
        self.model.deleted(call, self.pair.send(call))

    @precondition(lambda self: self.model.scheduled)
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
    ) -> Answer:
        headers = {**self._headers(fields), **more}
        answer = self.pair.send(_publish(channel, producer, "broadcast", body, headers, trust))
        self.model.published(channel, fields.get("messageId"), answer)
        return answer

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
