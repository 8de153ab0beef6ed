"""Calls that create, change, read and delete producers, channels and consumers."""

import json
from datetime import timedelta
from urllib.parse import urlencode

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from werkzeug.http import http_date

from tests.properties import strategies as some
from tests.properties.model import Model
from tests.properties.pair import Pair
from tests.properties.sides import Call, own_tokens, path_of
from tests.support.brokers import Broker

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
LISTS = ("producers", "channels")
BELOW = ("consumers", "messages", "scheduled-messages")


class RegistryRules(RuleBasedStateMachine):
    """Each rule goes to both brokers, and what it changes is noted in the model."""

    def __init__(self, sqlite: Broker, server: Broker) -> None:
        super().__init__()
        self.pair, self.model = Pair(sqlite, server), Model()

    @initialize()
    def register(self) -> None:
        """So that the first calls already find something."""
        for name in ("p", "P"):
            self._put(path_of("producer", name), {"token": "token-1"})
        for name in ("c", "C"):
            self._put(path_of("channel", name), {"token": "token-1"})
        for name in ("k", "K"):
            self._put(path_of("channel", "c", "consumer", name), {"type": "pull"})

    @rule(name=some.producer_ids, fields=some.producer_fields, when=some.conditions, form=st.booleans())
    def put_producer(self, name: str, fields: some.Json, when: str, form: bool) -> None:
        self._put(path_of("producer", name), fields, when, form)

    @rule(name=some.channel_ids, fields=some.channel_fields, when=some.conditions)
    def put_channel(self, name: str, fields: some.Json, when: str) -> None:
        self._put(path_of("channel", name), fields, when)

    @rule(channel=some.indexes, name=some.consumer_ids, fields=some.consumer_fields, when=some.conditions)
    def put_consumer(self, channel: int, name: str, fields: some.Json, when: str) -> None:
        self._put(path_of("channel", self.model.some_channel(channel), "consumer", name), fields, when)

    @rule(which=some.indexes, fields=some.telling_fields, below=st.booleans())
    def put_what_shows_in_jobs(self, which: int, fields: some.Json, below: bool) -> None:
        """When they expire and where they go when they die, on a channel or on one of its consumers."""
        channel, consumer = self.model.some_consumer(which)
        self._put(path_of("channel", channel, *(("consumer", consumer) if below else ())), fields)

    @rule(channel=some.indexes, name=some.consumer_ids, fields=some.consumer_forms)
    def put_consumer_form(self, channel: int, name: str, fields: some.Json) -> None:
        self._put(path_of("channel", self.model.some_channel(channel), "consumer", name), fields, form=True)

    @rule(producer=some.producer_ids, which=some.indexes, own=st.booleans())
    def get_entries(self, producer: str, which: int, own: bool) -> None:
        channel, consumer = self.model.some_consumer(which)
        for places in (("producer", producer), ("channel", channel), ("channel", channel, "consumer", consumer)):
            self.pair.send(Call("GET", path_of(*places), own_tokens(*places) if own else ("admin",)))

    @rule(
        producer=some.doomed_producer_ids,
        channel=some.channel_ids,
        which=st.booleans(),
        when=some.conditions,
        force=st.booleans(),
    )
    def delete_entry(self, producer: str, channel: str, which: bool, when: str, force: bool) -> None:
        if which:
            self.pair.send(self._call("DELETE", path_of("producer", producer), when))
        else:
            self._delete(path_of("channel", channel), when, force)

    @rule(which=some.indexes, when=some.conditions, force=st.booleans())
    def delete_consumer(self, which: int, when: str, force: bool) -> None:
        channel, name = self.model.some_consumer(which)
        self._delete(path_of("channel", channel, "consumer", name), when, force)

    @rule(channel=some.indexes, path=st.sampled_from(LISTS + BELOW), limit=some.limits)
    def read_list(self, channel: int, path: str, limit: str) -> None:
        above = () if path in LISTS else ("channel", self.model.some_channel(channel))
        self.pair.follow(path_of(*above, path), {"limit": limit})

    def _put(self, path: str, fields: some.Json, when: str = "none", form: bool = False) -> None:
        call = self._call("PUT", path, when)
        body = urlencode(fields) if form else json.dumps(fields)
        call = call._replace(body=body.encode(), headers={**call.headers, **(FORM if form else JSON)})
        answer = self.pair.send(call)
        if path.startswith("/channel"):
            self.model.put(call, answer)

    def _delete(self, path: str, when: str, force: bool) -> None:
        call = self._call("DELETE", path, when)._replace(query={"force": "true"} if force else {})
        self.model.deleted(call, self.pair.send(call))

    def _call(self, method: str, path: str, when: str) -> Call:
        if when == "read":
            self.pair.send(Call("GET", path))
        if when in ("seen", "read"):
            return Call(method, path, ("admin", when))
        return Call(method, path, headers=self._conditions().get(when, {}))

    def _conditions(self) -> dict[str, dict[str, str]]:
        """`before`: unchanged since time last moved, for clocks move by whole hours."""
        now = self.pair.now()
        return {
            "exists": {"If-Match": "*"},
            "other": {"If-Match": '"r1", "r2"'},
            "new": {"If-None-Match": "*"},
            "before": {"If-Unmodified-Since": http_date(now - timedelta(minutes=30))},
            "yesterday": {"If-Unmodified-Since": http_date(now - timedelta(days=1, minutes=30))},
            "tomorrow": {"If-Unmodified-Since": http_date(now + timedelta(days=1))},
            "nonsense": {"If-Unmodified-Since": "nonsense"},
        }
