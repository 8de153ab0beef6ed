"""Who may do what: every operation with every kind of credentials, and what becomes of the tokens themselves."""

import logging
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.brokers import ADMIN, ADMIN_TOKEN, Broker, make_broker, wait_until
from tests.support.calls import MESSAGE_ID, SCHEDULED_FOR, parsed, put, send
from tests.support.rows import everything
from tests.support.walk import CHANNEL_TOKEN, PUBLISHER, register

CHANNEL, PRODUCER_ID, PRODUCER = "X-Broker-Channel-Token", "X-Broker-Producer-ID", "X-Broker-Producer-Token"
CONSUMER = "X-Broker-Consumer-Token"
CONSUMER_PATH = "/channel/channel/consumer/consumer"
MONITORING = ("/_status", "/metrics", "/dlq-status", "/job-status", "/dlq-stats", "/dlq-history")
RIGHT = {CHANNEL: CHANNEL_TOKEN}
SHOWN: dict[str, dict[str, str]] = {
    "none": {},
    "admin": ADMIN,
    "bad-admin": {"Authorization": "Bearer wrong"},
    "basic": {"Authorization": f"Basic {ADMIN_TOKEN}"},
    "channel": RIGHT,
    "bad-channel": {CHANNEL: "wrong"},
    "other": {CHANNEL: "other-token"},
    "consumer": {**RIGHT, CONSUMER: "consumer-token"},
    "bad-cons": {**RIGHT, CONSUMER: "second-token"},
    "cons-only": {CONSUMER: "consumer-token"},
    "producer": {PRODUCER_ID: "producer", PRODUCER: "producer-token"},
    "bad-prod": {PRODUCER_ID: "producer", PRODUCER: "wrong"},
    "publisher": PUBLISHER,
}
MATRIX = """
operation                                   none admin bad-admin basic channel bad-channel other consumer bad-cons cons-only producer bad-prod publisher
PUT /producer/new                            401  200    403      401    401      401       401    401      401      401       401      401      401
DELETE /producer/new                         401  204    403      401    401      401       401    401      401      401       401      401      401
PUT /channel/new                             401  200    403      401    401      401       401    401      401      401       401      401      401
DELETE /channel/new                          401  204    403      401    401      401       401    401      401      401       401      401      401
PUT /channel/channel/consumer/new            401  200    403      401    401      401       401    401      401      401       401      401      401
DELETE /channel/channel/consumer/new         401  204    403      401    401      401       401    401      401      401       401      401      401
PUT /channel/unknown/consumer/new            401  404    403      401    401      401       401    401      401      401       401      401      401
DELETE /channel/unknown                      401  404    403      401    401      401       401    401      401      401       401      401      401
GET /producers                               401  200    403      401    401      401       401    401      401      401       401      401      401
GET /channels                                401  200    403      401    401      401       401    401      401      401       401      401      401
GET /producer/producer                       401  200    403      401    401      401       401    401      401      401       200      403      200
GET /producer/unknown                        401  404    403      401    401      401       401    401      401      401       403      403      403
GET /channel/channel                         401  200    403      401    200      403       403    200      200      401       401      401      200
GET /channel/unknown                         401  404    403      401    403      403       403    403      403      401       401      401      403
GET /channel/channel/consumers               401  200    403      401    200      403       403    200      200      401       401      401      200
GET /channel/unknown/consumers               401  404    403      401    403      403       403    403      403      401       401      401      403
GET /channel/channel/consumer/consumer       401  200    403      401    401      401       401    200      403      401       401      401      401
GET /channel/channel/consumer/unknown        401  404    403      401    401      401       401    403      403      401       401      401      401
GET /channel/unknown/consumer/consumer       401  404    403      401    401      401       401    403      403      401       401      401      401
POST /channel/channel/broadcast              401  401    401      401    401      401       401    401      401      401       401      401      201
POST /channel/channel/broadcast-batch        401  401    401      401    401      401       401    401      401      401       401      401      200
POST /channel/unknown/broadcast              401  401    401      401    401      401       401    401      401      401       401      401      404
GET /channel/channel/messages                401  200    403      401    200      403       403    200      200      401       401      401      200
GET /channel/channel/messages-status         401  200    403      401    200      403       403    200      200      401       401      401      200
GET /channel/channel/message/plain           401  200    403      401    200      403       403    200      200      401       401      401      200
GET /channel/channel/message/plain?raw=true  401  200    403      401    200      403       403    200      200      401       401      401      200
GET /channel/channel/message/unknown         401  404    403      401    404      403       403    404      404      401       401      401      404
GET /channel/unknown/message/plain           401  404    403      401    403      403       403    403      403      401       401      401      403
GET /channel/channel/scheduled-messages      401  200    403      401    200      403       403    200      200      401       401      401      200
GET /channel/channel/scheduled-message/later 401  200    403      401    200      403       403    200      200      401       401      401      200
DELETE /channel/channel/scheduled-message/later 401 204  403      401    204      403       403    204      204      401       401      401      204
GET /channel/channel/consumer/consumer/dlq   401  200    403      401    401      401       401    200      403      401       401      401      401
POST /channel/channel/consumer/consumer/dlq  401  202    403      401    401      401       401    202      403      401       401      401      401
DELETE /channel/channel/consumer/consumer/dlq 401 200    403      401    401      401       401    200      403      401       401      401      401
POST /channel/channel/consumer/consumer/dlq/archive 401 200 403   401    401      401       401    200      403      401       401      401      401
POST /channel/channel/consumer/consumer/dlq/move 401 200 403      401    401      401       401    200      403      401       401      401      401
GET /channel/channel/consumer/consumer/dlq/export 401 200 403     401    401      401       401    200      403      401       401      401      401
POST /channel/channel/consumer/consumer/import 401 200   403      401    401      401       401    200      403      401       401      401      401
POST /channel/channel/consumer/unknown/import 401 404    403      401    401      401       401    403      403      401       401      401      401
POST /channel/channel/consumer/unknown/dlq   401  404    403      401    401      401       401    403      403      401       401      401      401
DELETE /channel/unknown/consumer/consumer/dlq 401 404    403      401    401      401       401    403      403      401       401      401      401
POST /channel/channel/consumer/consumer/job/00000000000000000000/requeue-dead-job 401 404 403 401 401 401 401 404 403 401 401 401 401
DELETE /channel/channel/consumer/consumer/job/00000000000000000000 401 404 403 401 401 401  401    404      403      401       401      401      401
GET /channel/channel/consumer/consumer/operation/00000000000000000000 401 404 403 401 401 401 401  404      403      401       401      401      401
POST /channel/channel/consumer/consumer/operation/00000000000000000000/cancel 401 404 403 401 401 401 401 404 403 401 401 401 401
GET /admin/operations                        401  200    403      401    401      401       401    401      401      401       401      401      401
POST /admin/dlq/audit                        401  200    403      401    401      401       401    401      401      401       401      401      401
POST /admin/dlq/second/replay                401  202    403      401    401      401       401    401      401      401       401      401      401
POST /admin/dlq/unknown/replay               401  404    403      401    401      401       401    401      401      401       401      401      401
GET /dlq-status                              200  200    200      200    200      200       200    200      200      200       200      200      200
GET /job-status                              200  200    200      200    200      200       200    200      200      200       200      200      200
GET /dlq-stats                               200  200    200      200    200      200       200    200      200      200       200      200      200
GET /dlq-history                             200  200    200      200    200      200       200    200      200      200       200      200      200
GET /livez                                   200  200    200      200    200      200       200    200      200      200       200      200      200
GET /readyz                                  200  200    200      200    200      200       200    200      200      200       200      200      200
GET /openapi.yaml                            200  200    200      200    200      200       200    200      200      200       200      200      200
GET /_status                                 200  200    200      200    200      200       200    200      200      200       200      200      200
GET /metrics                                 200  200    200      200    200      200       200    200      200      200       200      200      200
"""  # noqa: E501 - a table is read across
PUBLISHING = [
    ("channel", PUBLISHER, 201),
    *[("channel", {n: v for n, v in PUBLISHER.items() if n != left_out}, 401) for left_out in PUBLISHER],
    ("channel", {**PUBLISHER, PRODUCER_ID: "unknown"}, 401),
    ("channel", {**PUBLISHER, PRODUCER: "wrong"}, 403),
    ("channel", {**PUBLISHER, PRODUCER: CHANNEL_TOKEN}, 403),
    ("channel", {**PUBLISHER, CHANNEL: "wrong"}, 403),
    ("channel", {**PUBLISHER, CHANNEL: "other-token"}, 403),
    ("channel", {**PUBLISHER, CHANNEL: "wrong", **ADMIN}, 403),
    ("unknown", PUBLISHER, 404),
    ("unknown", {**PUBLISHER, PRODUCER: "wrong"}, 403),
    ("unknown", {**PUBLISHER, PRODUCER_ID: "unknown"}, 401),
]


def furnish(client: FlaskClient) -> None:
    """What the operations of the matrix work on; what was deleted comes back."""
    register(client, "channel", ("consumer", "second", "new"))
    for path, fields in (("producer/new", {}), ("channel/new", {}), ("channel/other", {"token": "other-token"})):
        assert client.put(f"/{path}", json=fields, headers=ADMIN).status_code == 200
    assert client.put(CONSUMER_PATH, json={"deadChannel": "other"}, headers=ADMIN).status_code == 200
    send(client, {MESSAGE_ID: "plain"})
    send(client, {MESSAGE_ID: "later", SCHEDULED_FOR: "2999-01-01T00:00:00Z"})


def expected() -> Iterator[tuple[str, dict[str, int]]]:
    head, *lines = MATRIX.strip().splitlines()
    for line in lines:
        method, path, *cells = line.split()
        yield f"{method} {path}", dict(zip(head.split()[1:], map(int, cells), strict=True))


def call(client: FlaskClient, operation: str, headers: dict[str, str]) -> TestResponse:
    method, path = operation.split()
    path += "?force=true" if operation.startswith("DELETE") and "/consumer/" in path else ""
    if path.endswith(("batch", "import")):
        name = "messages" if path.endswith("batch") else "jobs"
        return client.open(path, method=method, headers=headers, json={name: [{"payload": "x"}]})
    body = {"type": "pull"} if "/consumer/" in path else {}
    return client.open(path, method=method, headers=headers, json=body if method == "PUT" else None)


def told(answer: TestResponse) -> dict[str, object]:
    return {name: value for name, value in parsed(answer).items() if name != "requestId"}


def test_every_operation_answers_each_kind_of_credentials_as_the_matrix_says(broker: Broker) -> None:
    client = broker.client
    furnish(client)
    found: dict[str, dict[str, int]] = {}
    for operation, _ in expected():
        found[operation] = {}
        for name, headers in SHOWN.items():
            answer = call(client, operation, headers)
            found[operation][name] = answer.status_code
            assert answer.headers.get("WWW-Authenticate") == (
                'Bearer realm="broker"' if answer.status_code == 401 else None
            )
            if answer.status_code == 204:
                furnish(client)
    assert found == dict(expected())


def test_publishing_needs_all_three_headers_and_each_must_be_right(broker: Broker) -> None:
    furnish(broker.client)
    for channel, headers, status in PUBLISHING:
        for path in ("broadcast", "broadcast-batch"):
            answer = broker.client.post(f"/channel/{channel}/{path}", json={"messages": [{}]}, headers=headers)
            assert answer.status_code == (200 if path != "broadcast" and status == 201 else status), (headers, path)


def test_a_caller_who_is_not_the_admin_cannot_tell_a_wrong_token_from_an_unknown_thing(broker: Broker) -> None:
    client = broker.client
    furnish(client)
    for known, unknown, shown in (
        ("/channel/channel", "/channel/unknown", "bad-channel"),
        ("/channel/channel/message/plain", "/channel/unknown/message/plain", "bad-channel"),
        ("/channel/channel/consumer/consumer", "/channel/channel/consumer/unknown", "bad-cons"),
        ("/channel/channel/consumer/consumer", "/channel/unknown/consumer/consumer", "bad-cons"),
        ("/producer/producer", "/producer/unknown", "bad-prod"),
    ):
        answers = [client.get(path, headers=SHOWN[shown]) for path in (known, unknown)]
        assert [answer.status_code for answer in answers] == [403, 403]
        assert told(answers[0]) == told(answers[1])


def test_without_an_admin_token_management_is_open_to_this_machine_only(database_url: str) -> None:
    open_broker = make_broker(database_url, admin_token=None)
    for peer, headers, status in (
        ("127.0.0.1", {}, 200),
        ("127.8.9.1", {}, 200),
        ("::1", {}, 200),
        ("10.1.2.3", {}, 401),
        ("203.0.113.9", {}, 401),
        ("not an address", {}, 401),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}, 401),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 401),
        ("127.0.0.1", {"Forwarded": "for=127.0.0.1"}, 401),
        ("203.0.113.9", {"X-Forwarded-For": "127.0.0.1"}, 401),
        ("203.0.113.9", ADMIN, 403),
    ):
        answer = open_broker.client.put("/channel/c", json={}, headers=headers, environ_base={"REMOTE_ADDR": peer})
        assert answer.status_code == status, (peer, headers)
    open_broker.parts.database.dispose()


def test_monitoring_asks_for_the_monitor_token_when_there_is_one(database_url: str) -> None:
    watched = make_broker(database_url, monitor_token="monitor-token")
    for bearer, status in ((None, 401), ("monitor-token", 200), (ADMIN_TOKEN, 200), ("wrong", 403)):
        headers = {} if bearer is None else {"Authorization": f"bearer {bearer}"}
        for path in MONITORING:
            assert watched.client.get(path, headers=headers).status_code == status
    assert watched.client.get("/channels", headers={"Authorization": "Bearer monitor-token"}).status_code == 403
    watched.parts.database.dispose()


def test_tokens_and_secrets_are_neither_stored_in_clear_nor_logged_nor_shown_again(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    broker = make_broker(database_url, secret_key="a-key-of-sixteen-characters")
    client, hook = broker.client, "https://example.com/"
    places = ["/producer/p", "/channel/c", "/channel/c/consumer/k", "/channel/c/consumer/given"]
    given = {"token": "given-token-1234", "signingSecret": "given-secret-1234"}
    secrets = [*given.values(), ADMIN_TOKEN]
    for place, fields in zip(places, ({}, {}, {"callbackUrl": hook}, {"callbackUrl": hook, **given}), strict=True):
        made = put(client, place, **fields)
        secrets += [made[name] for name in ("token", "signingSecret") if name in made]
    client.post("/channel/c/broadcast", headers={CHANNEL: secrets[4], PRODUCER_ID: "p", PRODUCER: secrets[3]})
    client.get("/channel/c", headers={CHANNEL: secrets[0]})
    later = "".join(client.get(place, headers=ADMIN).text + client.put(place, headers=ADMIN).text for place in places)
    assert len(secrets) == 7
    for secret in secrets:
        assert secret not in later + everything(broker) + caplog.text + client.get("/_status").text
    broker.parts.database.dispose()


def test_a_changed_token_replaces_the_old_one_at_once(broker: Broker) -> None:
    client = broker.client
    register(client)
    assert send(client).status_code == 201
    for path, header in (("/channel/channel", CHANNEL), ("/producer/producer", PRODUCER)):
        assert client.put(path, json={"token": "changed"}, headers=ADMIN).status_code == 200
        assert send(client).status_code == 403
        assert client.get(path, headers={header: PUBLISHER[header]}).status_code == 403
        assert send(client, {header: "changed"}).status_code == 201
        assert client.get(path, headers={header: "changed"}).status_code == 200
        register(client)


def test_another_instance_takes_the_new_token_at_once_and_drops_the_old_one_within_five_seconds(
    broker: Broker, database_url: str
) -> None:
    register(broker.client)
    second = make_broker(database_url, upgrade=False)
    assert send(second.client).status_code == 201
    broker.client.put("/channel/channel", json={"token": "changed"}, headers=ADMIN)
    assert send(second.client, {CHANNEL: "changed"}).status_code == 201
    broker.client.put("/producer/producer", json={"token": "changed"}, headers=ADMIN)
    assert send(second.client, {CHANNEL: "changed", PRODUCER: "changed"}).status_code == 201
    wait_until(lambda: send(second.client, {PRODUCER: "changed"}).status_code == 403, 5)
    wait_until(lambda: send(second.client, {CHANNEL: "changed"}).status_code == 403, 5)
    second.parts.database.dispose()
