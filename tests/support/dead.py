"""Shorthand for dead letters: make some through the API, look at them, act on them."""

from typing import Any

from werkzeug.test import TestResponse

from tests.support import states
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import get, parsed
from tests.support.jobs import make_jobs
from tests.support.walk import register

CONSUMER = "/channel/channel/consumer/consumer"
DLQ = f"{CONSUMER}/dlq"
TOKENS = {"X-Broker-Channel-Token": "channel-token", "X-Broker-Consumer-Token": "consumer-token"}


def bury(broker: Broker, count: int, counted: int = 0) -> list[str]:
    """So many dead jobs, oldest first; the first of them counted by a checkpoint, the others not."""
    register(broker.client)
    ids = make_jobs(broker.client, count)
    if counted:
        states.die(broker, *ids[:counted])
        states.checkpoint(broker)
    if ids[counted:]:
        states.die(broker, *ids[counted:])
    return ids


def dead_count(broker: Broker) -> int:
    """What monitoring is told about the only consumer, compared with the jobs themselves."""
    (standing,) = get(broker.client, "/dlq-status")["consumers"]
    assert standing["deadCount"] == states.dead_by_hand(broker)
    return int(standing["deadCount"])


def totals(broker: Broker) -> dict[str, int]:
    """What ever happened to the dead of the only consumer."""
    (standing,) = get(broker.client, "/dlq-status")["consumers"]
    found: dict[str, int] = standing["totals"]
    return found


def call(broker: Broker, method: str, path: str, status: int, **options: Any) -> Any:
    """A call by the admin that is answered with this status; gives its JSON, None without a body."""
    answer: TestResponse = broker.client.open(path, method=method, headers=ADMIN, **options)
    assert answer.status_code == status, answer.text
    return parsed(answer) if answer.get_data() else None


def listed(broker: Broker, query: str = "", limit: int = 100) -> list[str]:
    """All ids of a list of dead jobs, page by page."""
    found: list[str] = []
    address: str | None = f"{DLQ}?limit={limit}{query and '&' + query}"
    while address is not None:
        page = get(broker.client, address)
        found += [one["id"] for one in page["deadJobs"]]
        address = page["pages"].get("next")
    return found
