"""What callers send: mostly right, so that things happen, and now and then with a mistake."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.unit.setting_values import certificate

Json = dict[str, Any]
Values = dict[str, st.SearchStrategy[Any]]
LAST = datetime(9998, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

producer_ids = st.sampled_from(["p", "p", "p", "P", "producer é"])
doomed_producer_ids = st.sampled_from(["P", "P", "producer é", "p"])
channel_ids = st.sampled_from(["c", "c", "c", "C", "ç", "100%_' OR 1=1"])
consumer_ids = st.sampled_from(["k", "K", "ключ 🗝", "dead-letters"])
message_ids = st.sampled_from(["m", "M", "m\u0301", "ḿ", "%", "✉" * 255])
limits = st.sampled_from(["1", "2", "100"])
indexes = st.integers(0, 30)
rarely = st.sampled_from([False, False, False, True])
trusts = st.sampled_from([*["right"] * 9, "wrong", "missing"])
conditions = st.sampled_from(
    [*["none"] * 12, "seen", "seen", "read", "exists", "other", "new", "before", "yesterday", "tomorrow", "nonsense"]
)

_tokens = st.sampled_from(["token-1", "token-2", "T" * 255])
_names = st.sampled_from(["n", "N", "ends with a blank ", "Größe 🙂", "x" * 255])
_callbacks = st.sampled_from(["http://example.com/", "https://example.com:8443/a?b=c%20d", "http://[2001:db8::1]/"])
_producer: Values = {"token": _tokens, "name": _names}
_channel: Values = {
    **_producer,
    "paused": st.booleans(),
    "deadChannel": st.sampled_from(["C", "C", "C", "ç", "c", None]),
    "retryPolicy": st.sampled_from(["auto", "exponential", "schedule", "never", None]),
    "maxRetries": st.sampled_from([-1, 0, 3, 100, None]),
    "retryBase": st.sampled_from([0, 0.5, "500ms", "2s", "none", None]),
    "retryCap": st.sampled_from([60, "1h30m", "none", None]),
    "retrySchedule": st.sampled_from([[0], [1, "30s", 0.25], None]),
    "retryJitter": st.sampled_from([0, 0.1, 1, 1e-9, None]),
    "deliveryTimeout": st.sampled_from([30, "1h", None]),
    "connectTimeout": st.sampled_from([0.001, "5s", None]),
    "consumerConcurrency": st.sampled_from([1, 10_000, None]),
    "consumerRate": st.sampled_from([0.001, 1_000_000, "none", None]),
    "deliveryCa": st.sampled_from([certificate(), "none", None]),
    "readsSuccess": st.booleans() | st.none(),
    "lease": st.sampled_from([1, "12h", None]),
    "breakerThreshold": st.sampled_from([0, 1000, None]),
    "breakerOpen": st.sampled_from(["1s", "1d", None]),
    "expireAfter": st.sampled_from([1, "1h", 1.000001, "3650d", "none", None]),
    "dlqStrategy": st.sampled_from(["selective", "disabled", None]),
    "deadLetterMode": st.sampled_from(["move", "discard", None]),
    "dlqMaxSize": st.sampled_from([0, 1_000_000_000, None]),
    "dlqFullPolicy": st.sampled_from(["reject", "archive_oldest", None]),
}
_consumer: Values = {
    **_channel,
    "type": st.sampled_from(["push", "pull"]),
    "callbackUrl": st.one_of(st.none(), _callbacks),
    "signingSecret": st.just("whsec_" + "A" * 32),
}
_retry_blocks: st.SearchStrategy[Json] = st.sampled_from(
    [{"retry": None}, {"retry": {"attempts": 2, "cooldown": "30s"}}, {"retry": {"attempts": 0}}, {"retry": {}}]
)
_reachable: st.SearchStrategy[Json] = st.sampled_from(
    [{"type": "pull"}, {"type": "pull"}, {"callbackUrl": "http://example.com/"}, {}]
)
_mistakes: list[Json] = [
    {"colour": "red"},
    {"maxRetries": 101},
    {"retryBase": "1d", "retryCap": 1},
    {"retry": {"attempts": 2, "cooldown": "never"}},
    {"name": "a\u0000b"},
    {"name": "x" * 256},
    {"token": "with blank"},
    {"paused": "yes"},
    {"deadChannel": "there is none"},
    {"type": "other"},
    {"callbackUrl": "ftp://example.com/"},
]


def _some_of(every: Values) -> st.SearchStrategy[Json]:
    """At most four of the fields."""
    names = st.lists(st.sampled_from(sorted(every)), max_size=4, unique=True)
    return names.flatmap(lambda some: st.fixed_dictionaries({name: every[name] for name in some}))


def _together(*parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.tuples(*parts).map(lambda found: {name: value for part in found for name, value in part.items()})


def _with_mistake(fields: st.SearchStrategy[Json], mistakes: list[Json]) -> st.SearchStrategy[Json]:
    """One time in nine."""
    return st.integers(0, 8).flatmap(lambda n: fields if n else _together(fields, st.sampled_from(mistakes)))


producer_fields = _with_mistake(_some_of(_producer), _mistakes)
channel_fields = _with_mistake(st.one_of(_some_of(_channel), _some_of(_channel), _retry_blocks), _mistakes)
consumer_fields = _with_mistake(_together(_reachable, st.one_of(_some_of(_consumer), _retry_blocks)), _mistakes)
telling_fields = st.one_of(
    st.fixed_dictionaries({"expireAfter": _channel["expireAfter"]}),
    st.fixed_dictionaries({"deadChannel": _channel["deadChannel"]}),
)
consumer_forms = _with_mistake(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["", "push", "pull"]), "callbackUrl": _callbacks},
        optional={"name": st.one_of(st.just(""), _names), "token": _tokens},
    ),
    [{"paused": "true"}, {"type": "other"}, {"callbackUrl": ""}],
)

# Clocks move by whole hours, so that a time half an hour off is never decided by a few milliseconds.
_micros = st.sampled_from([0, 1, 123_456, 999_999])
soon = st.builds(lambda h, us: timedelta(hours=h, minutes=30, microseconds=us), st.integers(0, 2), _micros)
_later = st.builds(lambda h, us: timedelta(hours=h, minutes=30, microseconds=us), st.integers(3, 5), _micros)
_scalars = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5), st.none())
_lists = st.one_of(_scalars, st.lists(_scalars, max_size=2))
_objects = st.dictionaries(st.text(max_size=3), _lists, max_size=3)
_wrong_publications: list[Json] = [
    {"priority": 10},
    {"hopCount": 1_000_001},
    {"scheduledFor": timedelta(minutes=-30)},
    {"scheduledFor": "tomorrow"},
    {"scheduledFor": LAST, "expiresAt": timedelta(minutes=30)},
    {"messageId": "a\\b"},
    {"messageId": "x" * 256},
]
_publication: Values = {
    "messageId": message_ids,
    "scheduledFor": st.one_of(soon, soon, st.just(LAST)),
    "expiresAt": st.one_of(_later, st.just(LAST + timedelta(microseconds=1))),
    "metadata": _objects,
    "hopCount": st.sampled_from([0, 20, 21, 1_000_000]),
    "priority": st.sampled_from([0, 4, 9]),
    "contentType": st.sampled_from(["text/plain", "application/json; charset=utf-8", "a/" + "x" * 253]),
}
publications = _with_mistake(_some_of(_publication), _wrong_publications)
bodies = st.one_of(st.binary(max_size=8), st.sampled_from([b"{}", "täxt 🙂".encode(), b"\x00" * 300, b"' OR '1'='1"]))
_item: Values = {
    **_publication,
    "payload": st.one_of(_lists, _objects),
    "headers": st.sampled_from([None, {}, {"X-Shop": "Ümlaut 🙂"}]),
}
_wrong_items = [
    *_wrong_publications,
    {"colour": "red"},
    {"headers": {"X-Broker-Job-ID": "taken"}},
    {"payload": "\ud800"},
]
batches = st.lists(_with_mistake(_some_of(_item), _wrong_items), min_size=1, max_size=5)
