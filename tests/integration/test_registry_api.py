"""Producers, channels and consumers: a PUT changes what it is given and nothing else, and names what it refuses."""

from typing import Any

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, get, parsed, put, send
from tests.support.rows import rows, value
from tests.support.walk import register
from tests.unit.setting_values import certificate

HOOK = "https://example.com/hook"
CONSUMER = "/channel/c/consumer/k"
SETTINGS: list[tuple[str, object, object]] = [
    *[
        ("retryPolicy", one, one)
        for one in ("auto", "exponential", "linear", "fixed", "immediate", "schedule", "never")
    ],
    *[("maxRetries", one, one) for one in (-1, 0, 100)],
    *[("retryBase", given, shown) for given, shown in ((0, 0), ("1m30s", 90), ("500ms", 0.5), (604_800, 604_800))],
    *[("retryCap", given, shown) for given, shown in ((1, 1), ("30d", 2_592_000), ("none", "none"))],
    *[("retrySchedule", given, shown) for given, shown in (([0], [0]), (["5s", 30, 0.25], [5, 30, 0.25]))],
    *[("retryJitter", one, one) for one in (0, 0.5, 1)],
    *[("deliveryTimeout", given, shown) for given, shown in ((0.001, 0.001), ("1h", 3600))],
    *[("connectTimeout", given, shown) for given, shown in (("1ms", 0.001), (3600, 3600))],
    *[("consumerConcurrency", one, one) for one in (1, 10_000)],
    *[("consumerRate", given, shown) for given, shown in ((0.001, 0.001), (1_000_000, 1_000_000), ("none", "none"))],
    *[("deliveryCa", given, shown) for given, shown in ((certificate() + "\n", certificate()), ("none", "none"))],
    *[("readsSuccess", one, one) for one in (True, False)],
    *[("lease", given, shown) for given, shown in ((1, 1), ("12h", 43_200))],
    *[("breakerThreshold", one, one) for one in (0, 5, 1000)],
    *[("breakerOpen", given, shown) for given, shown in ((1, 1), ("1d", 86_400))],
    *[("expireAfter", given, shown) for given, shown in ((1, 1), ("7d", 604_800), ("off", "none"))],
    *[("dlqStrategy", one, one) for one in ("automatic", "selective", "manual", "disabled")],
    *[("deadLetterMode", one, one) for one in ("retain", "move", "discard")],
    *[("dlqMaxSize", one, one) for one in (0, 1_000_000_000)],
    *[("dlqFullPolicy", one, one) for one in ("alert", "reject", "archive_oldest")],
]
REFUSED: dict[str, list[object]] = {
    "retryPolicy": ["sometimes", "", 3, "AUTO"],
    "maxRetries": [-2, 101, "3", 1.5, True, 10**40],
    "retryBase": [-1, "8d", "soon", True, []],
    "retryCap": [0.5, "31d", {}],
    "retrySchedule": [[], "5s", [-1], ["x"], [1] * 51],
    "retryJitter": [-0.1, 1.1, "0.5"],
    "deliveryTimeout": [0, "61m", "none"],
    "connectTimeout": [0, 3601],
    "consumerConcurrency": [0, 10_001],
    "consumerRate": [0, 1_000_001],
    "deliveryCa": ["", "x", "-----BEGIN PRIVATE KEY-----", certificate() + "\nx", certificate("A" * 50_000), 1],
    "readsSuccess": ["true", 1, "none"],
    "lease": [0.9, "13h", "none"],
    "breakerThreshold": [-1, 1001],
    "breakerOpen": [0, "25h"],
    "expireAfter": [0, "3651d"],
    "dlqStrategy": ["auto"],
    "deadLetterMode": ["keep"],
    "dlqMaxSize": [-1, 1_000_000_001],
    "dlqFullPolicy": ["drop"],
    "retry": [3, [], {"attempts": 101}, {"cooldown": -1}, {"delay": 1}],
    "deadChannel": [3, "a/b", []],
    "paused": ["true", 1, None],
    "name": ["", None, 5, "x" * 256, "a\x00b", "\ud800"],
    "token": ["", None, 5, "x" * 256, "two words", "grün", "a\n"],
    "colour": ["red", None],
    "id": ["c"],
    "settings": [{}],
    "maxHops": [1],
    "adminToken": ["x"],
}
BAD_URLS = [
    "example.com", "/hook", "ftp://example.com", "javascript:alert(1)", "file:///etc/passwd", "http://", "http:///x",
    "http://user@example.com", "http://user:secret@example.com", "http://example.com:0/", "http://example.com:99999/",
    "http://example.com:x/", "http://exa mple.com", "http://grün.example", "http://[::1", "http://a\nb", "http://a\x00",
    "https://example.com/" + "x" * 2000,
]  # fmt: skip
GOOD_URLS = ["http://a", "https://a:8443/x?y=%20#z", "HTTPS://A/", "http://[::1]:80/", "http://127.0.0.1", HOOK]


def test_a_form_and_json_make_the_same_entry(broker: Broker) -> None:
    client = broker.client
    for path, extra in (("/producer/p", {}), ("/channel/c", {}), (CONSUMER, {"callbackUrl": HOOK, "type": ""})):
        fields = {"name": "A näme", "token": "the-token", **extra}
        shown = []
        for change in ({"data": fields}, {"json": fields}):
            answer = client.put(path, headers=ADMIN, **change)
            assert answer.status_code == 200, answer.text
            found = get(client, path)
            shown.append({name: found[name] for name in found if name != "changedAt"})
            assert found["name"] == "A näme"
            client.delete(path, headers=ADMIN) if path != "/channel/c" else None
        assert shown[0] == shown[1]


def test_an_empty_form_field_changes_nothing(broker: Broker) -> None:
    client = broker.client
    put(client, "/channel/c", token="first", name="Named")
    put(client, CONSUMER, callbackUrl=HOOK, name="Named", token="own")
    empty = {"token": "", "name": ""}
    assert parsed(client.put("/channel/c", data=empty, headers=ADMIN))["name"] == "Named"
    kept = parsed(client.put(CONSUMER, data={**empty, "callbackUrl": "", "type": ""}, headers=ADMIN))
    assert (kept["name"], kept["callbackUrl"], kept["type"]) == ("Named", HOOK, "push")
    tokens = {"X-Broker-Channel-Token": "first", "X-Broker-Consumer-Token": "own"}
    assert client.get(CONSUMER, headers=tokens).status_code == 200


def full_consumer(broker: Broker) -> dict[str, Any]:
    for name in ("dead", "dead2", "c"):
        put(broker.client, f"/channel/{name}", token="channel-token")
    overrides = {field: given for field, given, _ in SETTINGS if field not in ("retryCap", "connectTimeout")}
    fields = {"callbackUrl": HOOK, "deadChannel": "dead", "paused": True, "name": "Full", **overrides}
    put(broker.client, CONSUMER, token="own-token", signingSecret="whsec_first", **fields)
    return fields


def state(broker: Broker) -> dict[str, Any]:
    """Everything a consumer has, also what is never shown."""
    shown = get(broker.client, CONSUMER)
    hidden = rows(broker, "SELECT tokenHash, signingSecret, previousSigningSecret FROM consumer WHERE consumerId = 'k'")
    return {**shown, **shown["settings"], **hidden[0], "settings": None, "changedAt": None}


def test_an_update_without_a_field_never_clears_it(broker: Broker) -> None:
    full_consumer(broker)
    before = state(broker)
    for field, given, shown in (
        ("name", "Other", "Other"),
        ("callbackUrl", "http://b/", "http://b/"),
        ("type", "pull", "pull"),
        ("paused", False, False),
        ("deadChannel", "dead2", "dead2"),
        ("deadChannel", None, None),
        ("maxRetries", 7, 7),
        ("lease", "5m", 300),
    ):
        put(broker.client, CONSUMER, **{field: given})
        assert state(broker) == {**before, field: shown}
        before[field] = shown
    put(broker.client, CONSUMER, token="changed-token")
    after = state(broker)
    assert after.pop("tokenHash") != before.pop("tokenHash")
    assert after == before
    put(broker.client, "/channel/dead", name="Dead", paused=True, lease=5)
    put(broker.client, "/channel/dead", maxRetries=1)
    kept = get(broker.client, "/channel/dead")
    assert (kept["name"], kept["paused"], kept["settings"]) == ("Dead", True, {"maxRetries": 1, "lease": 5})


def test_an_update_that_gives_nothing_changes_nothing(broker: Broker) -> None:
    full_consumer(broker)
    for path in (CONSUMER, "/channel/c"):
        before = broker.client.get(path, headers=ADMIN)
        changes: list[dict[str, Any]] = [{"json": {}}, {"data": {}}, {"data": b""}]
        for change in changes:
            after = broker.client.put(path, headers=ADMIN, **change)
            assert (parsed(after), after.headers["ETag"]) == (parsed(before), before.headers["ETag"])


def test_what_the_broker_makes_is_shown_once_and_works(broker: Broker) -> None:
    client = broker.client
    producer, channel = put(client, "/producer/p"), put(client, "/channel/c")
    consumer = put(client, CONSUMER, callbackUrl=HOOK)
    assert consumer["signingSecret"].startswith("whsec_")
    tokens = {
        "X-Broker-Channel-Token": channel["token"],
        "X-Broker-Producer-ID": "p",
        "X-Broker-Producer-Token": producer["token"],
        "X-Broker-Consumer-Token": consumer["token"],
    }
    assert len({*tokens.values()}) == 4
    assert client.post("/channel/c/broadcast", headers=tokens).status_code == 201
    assert client.get(CONSUMER, headers=tokens).status_code == 200
    for path in ("/producer/p", "/channel/c", CONSUMER):
        for answer in (client.get(path, headers=ADMIN), client.put(path, json={"name": "N"}, headers=ADMIN)):
            assert not {"token", "signingSecret"} & parsed(answer).keys()
    assert "token" not in put(client, "/channel/given", token="given")
    assert "signingSecret" not in put(client, "/channel/c/consumer/pull", type="pull")


def test_a_consumer_that_turns_to_push_gets_a_signing_secret_once(broker: Broker) -> None:
    put(broker.client, "/channel/c")
    put(broker.client, CONSUMER, type="pull")
    assert put(broker.client, CONSUMER, type="push", callbackUrl=HOOK)["signingSecret"].startswith("whsec_")
    put(broker.client, CONSUMER, type="pull")
    assert "signingSecret" not in put(broker.client, CONSUMER, type="push")


def test_a_new_signing_secret_leaves_the_old_one_beside_it(broker: Broker) -> None:
    put(broker.client, "/channel/c")
    put(broker.client, CONSUMER, callbackUrl=HOOK, signingSecret="whsec_1")
    put(broker.client, CONSUMER, signingSecret="whsec_2")
    found = rows(broker, "SELECT signingSecret, previousSigningSecret FROM consumer")
    assert [tuple(row.values()) for row in found] == [("whsec_2", "whsec_1")]


def test_every_setting_that_may_differ_is_kept_and_can_be_inherited_again(broker: Broker) -> None:
    put(broker.client, "/channel/c")
    put(broker.client, CONSUMER, type="pull")
    for field, given, shown in SETTINGS:
        for path in ("/channel/c", CONSUMER):
            assert put(broker.client, path, **{field: given})["settings"] == {field: shown}
            assert get(broker.client, path)["settings"] == {field: shown}
            assert put(broker.client, path, **{field: None})["settings"] == {}


def test_a_value_out_of_range_is_refused_by_name_and_changes_nothing(broker: Broker) -> None:
    put(broker.client, "/channel/c")
    put(broker.client, CONSUMER, type="pull")
    for path in ("/channel/c", CONSUMER):
        before = get(broker.client, path)
        for field, values in REFUSED.items():
            for bad in values:
                answer = broker.client.put(path, json={field: bad}, headers=ADMIN)
                assert [name.split(".")[0] for name in faults(answer)] == [field], (field, bad)
        assert get(broker.client, path) == before
    every = {"lease": 0, "colour": "red", "name": "", "deadChannel": "a/b"}
    assert sorted(faults(broker.client.put("/channel/new", json=every, headers=ADMIN))) == sorted(every)
    assert faults(broker.client.put("/producer/p", json={"lease": 5, "paused": True}, headers=ADMIN)) == [
        "lease",
        "paused",
    ]
    assert value(broker, "SELECT COUNT(*) FROM channel") == 1


def test_settings_that_contradict_each_other_are_refused_also_when_given_one_by_one(broker: Broker) -> None:
    put(broker.client, "/channel/c", retryCap=60, deliveryTimeout=2)
    for field, bad in (("retryBase", 61), ("connectTimeout", 3)):
        assert faults(broker.client.put("/channel/c", json={field: bad}, headers=ADMIN)) == [field]
    assert get(broker.client, "/channel/c")["settings"] == {"retryCap": 60, "deliveryTimeout": 2}


def test_the_retry_block_is_a_fixed_policy(broker: Broker) -> None:
    fixed = {"retryPolicy": "fixed", "maxRetries": 1, "retryBase": 30}
    assert put(broker.client, "/channel/c", lease=5, retry={"attempts": 2, "cooldown": "30s"})["settings"] == {
        **fixed,
        "lease": 5,
    }
    assert put(broker.client, "/channel/c", retry={"attempts": 0})["settings"]["retryBase"] == 30
    assert put(broker.client, "/channel/c", retry=None)["settings"] == {"lease": 5}
    both = broker.client.put("/channel/c", json={"retry": {"attempts": 1}, "maxRetries": 1}, headers=ADMIN)
    assert faults(both) == ["maxRetries"]


def test_a_consumer_is_push_with_a_callback_or_pull(broker: Broker) -> None:
    client = broker.client
    put(client, "/channel/c")
    for fields, named in (
        ({}, "callbackUrl"),
        ({"type": "push"}, "callbackUrl"),
        ({"type": ""}, "callbackUrl"),
        ({"type": "poll", "callbackUrl": HOOK}, "type"),
        ({"type": None, "callbackUrl": HOOK}, "type"),
        ({"type": "PULL"}, "type"),
        ({"type": 1}, "type"),
    ):
        assert faults(client.put(CONSUMER, json=fields, headers=ADMIN)) == [named]
    assert put(client, CONSUMER, type="pull")["callbackUrl"] is None
    assert faults(client.put(CONSUMER, json={"type": "push"}, headers=ADMIN)) == ["callbackUrl"]
    assert put(client, CONSUMER, type="push", callbackUrl=HOOK)["callbackUrl"] == HOOK
    assert faults(client.put(CONSUMER, json={"callbackUrl": None}, headers=ADMIN)) == ["callbackUrl"]
    assert put(client, CONSUMER, type="pull", callbackUrl=None)["callbackUrl"] is None


def test_a_callback_is_an_absolute_address_without_credentials(broker: Broker) -> None:
    put(broker.client, "/channel/c")
    for url in BAD_URLS:
        assert faults(broker.client.put(CONSUMER, json={"callbackUrl": url}, headers=ADMIN)) == ["callbackUrl"], url
    for url in GOOD_URLS:
        assert put(broker.client, CONSUMER, callbackUrl=url)["callbackUrl"] == url
    register(broker.client, "c", ())
    send(broker.client, {"X-Broker-Message-ID": "m"}, channel="c")
    assert get(broker.client, "/channel/c/message/m")["jobs"][0]["listenerEndpoint"] == HOOK


def test_a_body_that_cannot_be_read_is_refused(broker: Broker) -> None:
    put(broker.client, "/channel/c")
    for path in ("/producer/p", "/channel/c", CONSUMER):
        for content_type in ("text/plain", "application/xml", "application/json+x", ""):
            answer = broker.client.put(path, data=b'{"type": "pull"}', headers={**ADMIN, "Content-Type": content_type})
            assert code_of(answer) == (415, "unsupported-media-type")
        for data in (b"{", b"[]", b'"text"', b"null", b"\xff", b'{"name": NaN}', b"[" * 5000, b"\xef\xbb\xbf{}"):
            answer = broker.client.put(path, data=data, headers={**ADMIN, "Content-Type": "application/json"})
            assert faults(answer) == ["body"], data
        assert faults(broker.client.put(path, data={"name": "n", "lease": "5"}, headers=ADMIN)) == ["lease"]
        assert faults(broker.client.put(path, data={"name": "a\nb"}, headers=ADMIN)) == ["name"]
