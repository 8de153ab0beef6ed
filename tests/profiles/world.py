"""A broker with a profile's settings, its engine turned by hand, and a target for its pushes; all through the API."""

import tomllib
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from werkzeug.test import TestResponse

from broker.config import load
from tests.support.brokers import ADMIN, Broker, make_broker
from tests.support.calls import get, parsed, path_of, put, send
from tests.support.engines import Hand
from tests.support.target import Answer, Received, Target
from tests.support.walk import CHANNEL_TOKEN, PRODUCER_TOKEN

BUILT_IN = "dead-letters"


def read_options(file: Path) -> dict[str, object]:
    """A profile's settings; the file must be one that `broker` itself accepts."""
    load(file, {}, {})
    return tomllib.loads(file.read_text())


class World:
    """What a test holds in its hands."""

    def __init__(self, database_url: str, options: Mapping[str, Any], target: Target) -> None:
        self.database_url, self.options, self.target = database_url, options, target
        self._open(make_broker(database_url, **options))
        put(self.client, "/producer/producer", token=PRODUCER_TOKEN)

    def _open(self, broker: Broker) -> None:
        self.broker, self.client, self.hand = broker, broker.client, Hand(broker)

    def close(self) -> None:
        """The engine ends, and the connections."""
        self.hand.close()
        self.broker.parts.database.dispose()

    def restart(self) -> Self:
        """Another broker on the same database, at the same time of day."""
        self.close()
        fresh = make_broker(self.database_url, upgrade=False, **self.options)
        fresh.clock.advance(self.broker.clock.offset)
        self._open(fresh)
        return self

    def channel(self, name: str, /, **fields: object) -> Any:
        """Make or change a channel."""
        return put(self.client, path_of("channel", name), token=CHANNEL_TOKEN, **fields)

    def push(self, channel: str, consumer: str, /, **fields: object) -> Any:
        """Make a push consumer whose calls go to the target, at a path of its name."""
        callback = fields.pop("callbackUrl", self.target.url(f"/{consumer}"))
        return self.consumer(channel, consumer, type="push", callbackUrl=callback, token=f"{consumer}-token", **fields)

    def pull(self, channel: str, consumer: str, /, **fields: object) -> Any:
        """Make a pull consumer."""
        return self.consumer(channel, consumer, type="pull", token=f"{consumer}-token", **fields)

    def consumer(self, channel: str, consumer: str, /, **fields: object) -> Any:
        """Make or change a consumer."""
        return put(self.client, path_of("channel", channel, "consumer", consumer), **fields)

    def publish(self, channel: str, body: bytes = b"work", **headers: str) -> list[str]:
        """Send a message (`X_Broker_Hop_Count` is that header); gives the ids of its jobs."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = send(self.client, named, body, channel)
        assert answer.status_code == 201, answer.text
        return [one["id"] for one in get(self.client, answer.headers["Location"])["jobs"]]

    def job(self, job_id: str) -> Any:
        """A job with its history; None when there is no such job."""
        answer = self.client.get(f"/admin/job/{job_id}", headers=ADMIN)
        assert answer.status_code in (200, 404), answer.text
        return parsed(answer) if answer.status_code == 200 else None

    def jobs(self, channel: str, consumer: str, state: str = "all") -> list[Any]:
        """A consumer's jobs."""
        found = get(self.client, path_of("channel", channel, "consumer", consumer, "jobs") + f"?state={state}")
        return list(found["result"])

    def lease(self, channel: str, consumer: str, **wish: object) -> Any:
        """Take jobs to work on."""
        return self.done(self.call(channel, consumer, "lease", wish))

    def answer(self, way: str, channel: str, consumer: str, leased: Any, **fields: object) -> list[str]:
        """`complete`, `retry` or `extend` all that was leased; gives what became of each."""
        jobs = [{"id": one["id"], **fields} for one in leased["jobs"]]
        told = self.done(self.call(channel, consumer, way, {"jobs": jobs, "leaseToken": leased["leaseToken"]}))
        return [one["result"] for one in told["results"]]

    def call(self, channel: str, consumer: str, way: str, body: object) -> TestResponse:
        """POST something to a consumer's address."""
        return self.client.post(
            path_of("channel", channel, "consumer", consumer, *way.split("/")), json=body, headers=ADMIN
        )

    def done(self, answer: TestResponse) -> Any:
        """The JSON of a call that succeeds."""
        assert answer.status_code == 200, answer.text
        return parsed(answer)

    def pass_time(self, seconds: float) -> None:
        """Later, nothing else."""
        self.broker.clock.advance(timedelta(seconds=seconds))

    def deliver(self, after: float = 0.0) -> None:
        """Let time pass, and the engine do all that is due."""
        self.pass_time(after)
        self.hand.deliver()

    def fails_with(self, status: int, body: bytes = b"", **headers: str) -> None:
        """From now on the target answers so."""
        self.target.rule = lambda _: Answer(status, {name.replace("_", "-"): v for name, v in headers.items()}, body)


def delay_of(job: Any) -> float:
    """Seconds from a job's failure to its next attempt."""
    return (_time(job["nextAttemptAt"]) - _time(job["statusChangedAt"])).total_seconds()


def events(job: Any) -> list[str]:
    """What happened to a job, oldest first."""
    return [one["event"] for one in job["history"]]


def attempts(target: Target) -> list[str]:
    """The attempt numbers that pushes carried."""
    return [one.headers["x-broker-attempt"] for one in target.received]


def paths(received: list[Received]) -> list[str]:
    """Whom each push went to."""
    return [one.path for one in received]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
