"""A pull client as tests write it: leases jobs of one consumer and answers for them, through the API."""

from datetime import timedelta
from typing import Any

from werkzeug.test import TestResponse

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import get, parsed, put
from tests.support.walk import CHANNEL_TOKEN, register


class Puller:
    """Shows the tokens of the channel and the consumer."""

    def __init__(self, broker: Broker, consumer: str = "consumer", channel: str = "channel") -> None:
        self.broker, self.path = broker, f"/channel/{channel}/consumer/{consumer}"
        self.credentials = {"X-Broker-Channel-Token": CHANNEL_TOKEN, "X-Broker-Consumer-Token": f"{consumer}-token"}

    def post(self, what: str, fields: object) -> TestResponse:
        """Any call."""
        return self.broker.client.post(f"{self.path}/{what}", json=fields, headers=self.credentials)

    def ask(self, what: str, **fields: object) -> Any:
        """A call that is answered with 200."""
        answer = self.post(what, fields)
        assert answer.status_code == 200, answer.text
        return parsed(answer)

    def lease(self, limit: int = 1, **fields: object) -> tuple[str, list[str]]:
        """The token and the ids of what it got."""
        got = self.ask("lease", limit=limit, **fields)
        return str(got["leaseToken"]), [one["id"] for one in got["jobs"]]

    def take(self, **fields: object) -> tuple[str, str]:
        """The token and the id of the one job that it got."""
        token, (job_id,) = self.lease(1, **fields)
        return token, job_id

    def answer(self, what: str, token: str, *ids: str, **fields: object) -> list[str]:
        """Complete, retry or extend; gives what became of each."""
        beside = {"lease": fields.pop("lease")} if "lease" in fields else {}
        told = self.ask(what, leaseToken=token, jobs=[{"id": one, **fields} for one in ids], **beside)
        return results(told)

    def step(self, job_id: str, state: str, **fields: object) -> int:
        """The status of a step's answer."""
        return self.post(f"job/{job_id}", {"NextState": state, **fields}).status_code

    def queued(self, query: str = "") -> list[str]:
        """The ids that queued-jobs lists."""
        answer = self.broker.client.get(f"{self.path}/queued-jobs{query}", headers=self.credentials)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in parsed(answer)["result"]]

    def job(self, job_id: str) -> Any:
        """A job as the admin sees it."""
        return get(self.broker.client, f"/admin/job/{job_id}")

    def pass_time(self, seconds: float) -> None:
        """So many seconds go by."""
        self.broker.clock.advance(timedelta(seconds=seconds))

    def configure(self, **settings: object) -> None:
        """Change the consumer."""
        put(self.broker.client, self.path, **settings)


def results(told: Any) -> list[str]:
    """What became of each; an answer that is refused carries 409."""
    assert all((one["status"] == 409) == (one["result"] == "late") for one in told["results"])
    assert told["refused"] == sum(one["result"] == "late" for one in told["results"])
    assert told["done"] + told["refused"] == len(told["results"])
    return [one["result"] for one in told["results"]]


def puller(broker: Broker, **settings: object) -> Puller:
    """A client of a pull consumer that is registered for it."""
    register(broker.client)
    made = Puller(broker)
    if settings:
        made.configure(**settings)
    return made


def drop(broker: Broker, job_id: str) -> None:
    """An operator removes a job."""
    answer = broker.client.post("/admin/jobs/drop", json={"jobs": [job_id]}, headers=ADMIN)
    assert parsed(answer)["done"] == 1, answer.text
