"""What all answers have in common: problems with stable codes, request ids, methods; and the pages for probes."""

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pymysql
import pytest
import yaml
from flask.testing import FlaskClient
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError
from werkzeug.test import TestResponse

from broker import __version__
from broker.api.problems import STATUS
from tests.support.brokers import ADMIN, Broker, make_broker
from tests.support.calls import MESSAGE_ID, SCHEDULED_FOR, get, parsed, put, send
from tests.support.jobs import make_jobs
from tests.support.rows import value
from tests.support.walk import PUBLISHER, register

SPECIFICATION = Path(__file__).parents[2] / "api-spec" / "openapi.yaml"
CONSUMER = "/channel/channel/consumer/consumer"
DEAD = "/channel/channel/scheduled-message/dead"
JSON = {"Content-Type": "application/json"}
Provoke = Callable[[FlaskClient], TestResponse]
PROBLEMS: dict[str, tuple[int, Provoke]] = {
    "invalid-request": (400, lambda c: c.put("/channel/c", json={"colour": "red", "lease": 0}, headers=ADMIN)),
    "invalid-cursor": (400, lambda c: c.get("/channels?next=x", headers=ADMIN)),
    "unauthorized": (401, lambda c: c.get("/channels")),
    "forbidden": (403, lambda c: c.get("/channels", headers={"Authorization": "Bearer wrong"})),
    "not-found": (404, lambda c: c.get("/channel/unknown", headers=ADMIN)),
    "method-not-allowed": (405, lambda c: c.post("/channels", headers=ADMIN)),
    "duplicate-message": (409, lambda c: send(c, {MESSAGE_ID: "m"})),
    "unfinished-jobs": (409, lambda c: c.delete(CONSUMER, headers=ADMIN)),
    "in-use": (409, lambda c: c.delete("/channel/channel", headers=ADMIN)),
    "not-dead": (409, lambda c: c.post(f"{CONSUMER}/job/{make_jobs(c, 1)[0]}/requeue-dead-job", headers=ADMIN)),
    "not-pull": (412, lambda c: c.post(f"{pushed(c)}/lease", json={}, headers=ADMIN)),
    "not-deletable": (409, lambda c: c.delete(DEAD, headers=ADMIN)),
    "length-required": (411, lambda c: c.put("/channel/c", headers={**ADMIN, "Transfer-Encoding": "chunked"})),
    "precondition-failed": (412, lambda c: c.put("/channel/channel", headers={**ADMIN, "If-Match": '"x"'})),
    "too-soon": (412, lambda c: send(c, {SCHEDULED_FOR: "2001-01-01T00:00:00Z"})),
    "too-large": (413, lambda c: c.put("/channel/c", data=b"x" * 100_001, headers={**ADMIN, **JSON})),
    "unsupported-media-type": (415, lambda c: c.put("/channel/c", data=b"x", headers=ADMIN)),
}
MEMBERS = {"errors": "invalid-request", "location": "duplicate-message", "unfinishedJobs": "unfinished-jobs"}


def pushed(client: FlaskClient) -> str:
    """A consumer that does not pull."""
    register(client, channel="pushing", consumers=())
    put(client, "/channel/pushing/consumer/pushed", callbackUrl="https://example.com/")
    return "/channel/pushing/consumer/pushed"


def check_problem(answer: TestResponse, status: int, code: str) -> None:
    body = parsed(answer)
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert (body["status"], body["code"], body["type"]) == (status, code, f"urn:broker:problem:{code}")
    assert body["title"]
    assert body["detail"]
    assert body["requestId"] == answer.headers["X-Request-ID"]
    for member, owner in MEMBERS.items():
        assert (member in body) == (code == owner)


def test_every_refusal_is_a_problem_with_its_own_code(broker: Broker) -> None:
    client = broker.client
    register(client)
    send(client, {MESSAGE_ID: "m"})
    send(client, {MESSAGE_ID: "dead", SCHEDULED_FOR: "2999-01-01T00:00:00Z", "X-Broker-Hop-Count": "99"})
    for code, (status, provoke) in PROBLEMS.items():
        check_problem(provoke(client), status, code)
    assert {*PROBLEMS, "internal", "unavailable"} == STATUS.keys()


def test_errors_name_every_field_at_fault_with_a_sentence(broker: Broker) -> None:
    found = parsed(PROBLEMS["invalid-request"][1](broker.client))["errors"]
    assert sorted(error["field"] for error in found) == ["colour", "lease"]
    assert all(error["message"] for error in found)


def test_without_its_tables_the_broker_lives_but_is_not_ready(database_url: str) -> None:
    bare = make_broker(database_url, upgrade=False)
    for path in ("/readyz", "/channels"):
        answer = bare.client.get(path, headers=ADMIN)
        check_problem(answer, 503, "unavailable")
        assert answer.headers["Retry-After"] == "2"
    assert "broker db upgrade" in parsed(bare.client.get("/readyz"))["detail"]
    assert send(bare.client).status_code == 503
    assert bare.client.get("/livez").status_code == 200
    bare.parts.database.dispose()


def test_an_unexpected_error_is_logged_with_the_request_id_and_not_told(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> TestResponse:
        raise LookupError("an inner secret")

    broker.app.view_functions["health.livez"] = broken
    with caplog.at_level(logging.ERROR):
        answer = broker.client.get("/livez", headers={"X-Request-ID": "the-request"})
    check_problem(answer, 500, "internal")
    assert "inner secret" not in answer.text
    assert "the-request" in caplog.text
    assert "an inner secret" in caplog.text


def test_a_usable_request_id_is_echoed_and_any_other_replaced(broker: Broker) -> None:
    for given in ("a", "x" * 128, "{}|~!", "0f8fad5b-d9cb-469f-a165-70867728950e"):
        answer = broker.client.get("/channels", headers={"X-Request-ID": given})
        assert answer.headers["X-Request-ID"] == parsed(answer)["requestId"] == given
    made = set()
    for bad in ("", "x" * 129, "two words", "tab\there", "grün", "\x7f"):
        for path in ("/channels", "/livez", "/unknown"):
            made.add(broker.client.get(path, headers={"X-Request-ID": bad}).headers["X-Request-ID"])
    made.add(broker.client.get("/livez").headers["X-Request-ID"])
    assert len(made) == 19
    assert all(len(one) == 20 for one in made)
    assert send(broker.client, {"X-Request-ID": "mine"}).headers["X-Request-ID"] == "mine"


def test_another_method_is_answered_with_those_that_are_allowed(broker: Broker) -> None:
    for path, allowed in (
        ("/producer/p", {"GET", "HEAD", "PUT", "DELETE"}),
        ("/channel/c", {"GET", "HEAD", "PUT", "DELETE"}),
        ("/channel/c/consumer/k", {"GET", "HEAD", "PUT", "DELETE"}),
        ("/producers", {"GET", "HEAD"}),
        ("/channel/c/broadcast", {"POST"}),
        ("/channel/c/broadcast-batch", {"POST"}),
        ("/channel/c/message/m", {"GET", "HEAD"}),
        ("/channel/c/scheduled-message/m", {"GET", "HEAD", "DELETE"}),
        ("/livez", {"GET", "HEAD"}),
        ("/metrics", {"GET", "HEAD"}),
    ):
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            if method not in allowed:
                answer = broker.client.open(path, method=method, headers=ADMIN)
                check_problem(answer, 405, "method-not-allowed")
                assert {*answer.headers["Allow"].split(", ")} == allowed


def test_an_unknown_address_is_a_problem_too(broker: Broker) -> None:
    for path in (
        "/",
        "/unknown",
        "/channels/",
        "//channels",
        "/channel",
        "/channel/",
        "/channel//consumers",
        "/Channels",
    ):
        check_problem(broker.client.get(path, headers=ADMIN), 404, "not-found")


def test_query_parameters_that_nobody_knows_are_ignored_but_fields_are_not(broker: Broker) -> None:
    register(broker.client)
    assert broker.client.get("/channels?colour=red", headers=ADMIN).status_code == 200
    assert send(broker.client, {"X-Broker-Colour": "red"}).status_code == 201
    assert broker.client.put("/channel/channel?colour=red", json={}, headers=ADMIN).status_code == 200
    assert broker.client.put("/channel/channel", json={"colour": None}, headers=ADMIN).status_code == 400


def test_head_answers_like_get_without_a_body(broker: Broker) -> None:
    register(broker.client)
    place = send(broker.client, {MESSAGE_ID: "m", "Content-Type": "text/plain"}).headers["Location"]
    for path in (
        "/channels",
        "/channel/channel",
        place,
        f"{place}?raw=true",
        "/channel/unknown",
        "/openapi.yaml",
        "/livez",
    ):
        got, head = broker.client.get(path, headers=ADMIN), broker.client.head(path, headers=ADMIN)
        assert (head.status_code, head.get_data()) == (got.status_code, b"")
        for name in ("Content-Type", "Content-Length", "ETag", "Last-Modified"):
            assert head.headers.get(name) == got.headers.get(name)


def test_probes_say_ok(broker: Broker) -> None:
    for path in ("/livez", "/readyz"):
        answer = broker.client.get(path)
        assert (answer.status_code, parsed(answer)) == (200, {"status": "ok"})


def test_the_status_tells_what_runs_and_no_secret(database_url: str) -> None:
    key = "key-of-sixteen-characters"
    broker = make_broker(database_url, broker_id="here", monitor_token="monitor-1234", secret_key=key)
    answer = broker.client.get("/_status", headers={"Authorization": "Bearer monitor-1234"})
    found = parsed(answer)
    assert (found["version"], found["brokerId"]) == (__version__, "here")
    assert found["schema"] == value(broker, "SELECT version_num FROM alembic_version")
    assert found["startedAt"].endswith("Z")
    for secret in (key, "monitor-1234", "test-admin-token", make_url(database_url).password or key):
        assert secret not in answer.text
    broker.parts.database.dispose()


def test_metrics_count_requests_and_each_retry_of_a_transaction(broker: Broker) -> None:
    tries: list[int] = []

    def conflict(connection: object) -> str:
        tries.append(1)
        if len(tries) == 1:
            locked = sqlite3.OperationalError("database is locked")
            deadlock = pymysql.err.OperationalError(1213, "Deadlock found")
            raise OperationalError("UPDATE", {}, locked if broker.parts.database.is_sqlite else deadlock)
        return "done"

    assert "transaction=" not in broker.client.get("/metrics").text
    assert broker.parts.database.write("forced", conflict) == "done"
    get(broker.client, "/channels")
    text = broker.client.get("/metrics").text
    error = "OperationalError" if broker.parts.database.is_sqlite else "1213"
    assert f'broker_database_retries_total{{error="{error}",transaction="forced"}} 1.0' in text
    assert "flask_http_request_total" in text
    assert 'endpoint="registry.list_channels"' in text


def test_metrics_have_no_ids_of_users_in_their_labels(broker: Broker) -> None:
    put(broker.client, "/channel/a-channel-of-someone")
    broker.client.get("/channel/unknown-of-someone", headers=ADMIN)
    broker.client.get("/nowhere-of-someone")
    assert "of-someone" not in broker.client.get("/metrics").text


def test_the_served_description_is_the_file(broker: Broker) -> None:
    answer = broker.client.get("/openapi.yaml")
    assert answer.get_data() == SPECIFICATION.read_bytes()
    assert answer.mimetype == "application/yaml"
    routes = {str(rule).replace("<", "{").replace(">", "}") for rule in broker.app.url_map.iter_rules()}
    described = yaml.safe_load(answer.get_data())["paths"].keys()
    assert {route.replace("_id}", "Id}") for route in routes} == described


def test_every_answer_to_a_publisher_is_free_of_credentials(broker: Broker) -> None:
    register(broker.client)
    for headers in ({}, {"X-Broker-Channel-Token": "wrong-token"}, {"X-Broker-Message-Priority": "x"}):
        answer = send(broker.client, headers)
        shown = answer.text + str(answer.headers)
        for name, secret in {**PUBLISHER, **headers}.items():
            assert secret not in shown or name in ("X-Broker-Producer-ID", "X-Broker-Message-Priority")
