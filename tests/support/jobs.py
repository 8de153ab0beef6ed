"""Shorthand for jobs: make some, list them, act on them, through the API."""

from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import get, parsed, send_batch

JOBS = "/channel/channel/consumer/consumer/jobs"


def make_jobs(client: FlaskClient, count: int, channel: str = "channel", **item: object) -> list[str]:
    """So many messages; gives the ids of their jobs, oldest first."""
    done = send_batch(client, *({"payload": "x", **item} for _ in range(count)), channel=channel)
    return [
        one["id"]
        for result in done["results"]
        for one in get(client, result["location"].replace("scheduled-", ""))["jobs"]
    ]


def act(client: FlaskClient, name: str, *ids: str, **fields: object) -> Any:
    """An operator's act that is answered with 200."""
    answer = try_act(client, name, {"jobs": list(ids), **fields})
    assert answer.status_code == 200, answer.text
    return parsed(answer)


def try_act(client: FlaskClient, name: str, body: object) -> TestResponse:
    """An operator's act."""
    return client.post(f"/admin/jobs/{name}", json=body, headers=ADMIN)


def results(told: Any) -> list[tuple[str, str | None]]:
    """What became of each, and why."""
    return [(one["result"], one["reason"]) for one in told["results"]]


def job(broker: Broker, job_id: str) -> Any:
    """A job as the admin sees it."""
    return get(broker.client, f"/admin/job/{job_id}")


def listed(broker: Broker, state: str, limit: int = 100, path: str = JOBS) -> list[str]:
    """All ids of a state, page by page."""
    found: list[str] = []
    address: str | None = f"{path}?state={state}&limit={limit}"
    while address is not None:
        page = get(broker.client, address)
        found += [one["id"] for one in page["result"]]
        address = page["pages"].get("next")
    return found
