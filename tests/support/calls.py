"""Calls of the HTTP API as tests write them: for the admin, with JSON, and checked."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.brokers import ADMIN
from tests.support.walk import PUBLISHER

MESSAGE_ID, SCHEDULED_FOR = "X-Broker-Message-ID", "X-Broker-Scheduled-For"


def path_of(*segments: str) -> str:
    """An address of percent-encoded segments."""
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def as_header(text: str) -> str:
    """Unicode as it travels in a header: the bytes of its UTF-8."""
    return text.encode().decode("latin-1")


def parsed(answer: TestResponse) -> Any:
    """The JSON of an answer."""
    return json.loads(answer.get_data())


def put(client: FlaskClient, path: str, **fields: object) -> Any:
    """PUT of JSON that succeeds; gives the entry."""
    answer = client.put(path, json=fields, headers=ADMIN)
    assert answer.status_code == 200, answer.text
    return parsed(answer)


def get(client: FlaskClient, path: str) -> Any:
    """GET of JSON that succeeds."""
    answer = client.get(path, headers=ADMIN)
    assert answer.status_code == 200, answer.text
    return parsed(answer)


def send(
    client: FlaskClient, headers: Mapping[str, str] = {}, body: bytes = b"hello", channel: str = "channel"
) -> TestResponse:
    """POST one message with further headers."""
    return client.post(path_of("channel", channel, "broadcast"), data=body, headers={**PUBLISHER, **headers})


def send_batch(client: FlaskClient, *items: object, channel: str = "channel") -> Any:
    """POST messages as one batch; gives the answer's JSON."""
    path = path_of("channel", channel, "broadcast-batch")
    answer = client.post(path, json={"messages": items}, headers=PUBLISHER)
    assert answer.status_code == 200, answer.text
    return parsed(answer)


def faults(answer: TestResponse) -> list[str]:
    """The fields that a 400 names."""
    assert answer.status_code == 400, (answer.status, answer.text)
    found = parsed(answer)
    assert found["code"] == "invalid-request"
    return [error["field"] for error in found["errors"]]


def code_of(answer: TestResponse) -> tuple[int, str]:
    """Status and problem code of a refusal."""
    assert answer.mimetype == "application/problem+json", answer.text
    return answer.status_code, parsed(answer)["code"]
