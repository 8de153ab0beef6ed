"""What is registered in a broker before generated calls reach it, and put back after they changed it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.support.brokers import ADMIN

KNOWN = {
    "producerId": "known-producer",
    "channelId": "known-channel",
    "consumerId": "known-consumer",
    "messageId": "known-message",
}
SCHEDULED = "known-scheduled"
TOKEN = "known-token"
DEAD_CHANNEL = "known-graveyard"
PRODUCER, CHANNEL = f"/producer/{KNOWN['producerId']}", f"/channel/{KNOWN['channelId']}"
CONSUMER = f"{CHANNEL}/consumer/{KNOWN['consumerId']}"
REPLAY = f"/admin/dlq/{KNOWN['consumerId']}/replay"
CREDENTIALS = {
    **ADMIN,
    "X-Broker-Channel-Token": TOKEN,
    "X-Broker-Producer-ID": KNOWN["producerId"],
    "X-Broker-Producer-Token": TOKEN,
    "X-Broker-Consumer-Token": TOKEN,
}
LATER = (datetime.now(UTC) + timedelta(days=1)).isoformat()
FIELDS: Mapping[str, Mapping[str, Any]] = {
    PRODUCER: {"token": TOKEN},
    CHANNEL: {"token": TOKEN, "deadChannel": None},
    f"/channel/{DEAD_CHANNEL}": {"token": TOKEN, "deadChannel": None},
    CONSUMER: {"token": TOKEN, "type": "pull", "deadChannel": DEAD_CHANNEL},
}


class World:
    """A producer, a channel, a consumer, messages and their jobs, dead and alive, whose ids and tokens are known."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, headers=CREDENTIALS, timeout=20)
        self._build()

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def restore(self, method: str, path: str) -> None:
        """Undo a call that succeeded: a change gets the known values again, what was deleted is made anew."""
        if method == "PUT" and path in FIELDS:
            self._put(path)
        if path.startswith(f"{CONSUMER}/") and (method == "DELETE" or "/dlq" in path or path.endswith("dead-job")):
            if method != "GET":
                KNOWN["deadJobId"] = self._dead_job()
        elif path == REPLAY:
            KNOWN["deadJobId"] = self._dead_job()
        elif method == "DELETE" and "known-" in path:
            self._build()
        elif path == "/admin/jobs/drop" or (method == "POST" and "/job/" in path):
            KNOWN["jobId"] = self._job()

    def _build(self) -> None:
        for path in FIELDS:
            self._put(path)
        self._publish({"X-Broker-Message-ID": KNOWN["messageId"]})
        self._publish({"X-Broker-Message-ID": SCHEDULED, "X-Broker-Scheduled-For": LATER})
        KNOWN["jobId"] = self._job()
        KNOWN["deadJobId"] = self._dead_job()
        KNOWN["operationId"] = self._operation()
        self._act("fail", self._job())
        self._act("done", self._job())

    def _job(self) -> str:
        """A new message's only job."""
        answer = self._client.post(f"{CHANNEL}/broadcast", content=b"known")
        assert answer.status_code == 201, answer.text
        return str(self._client.get(answer.headers["Location"]).json()["jobs"][0]["id"])

    def _dead_job(self) -> str:
        """One that its consumer has rejected."""
        job_id = self._job()
        for state in ("INFLIGHT", "DEAD"):
            answer = self._client.post(f"{CONSUMER}/job/{job_id}", json={"NextState": state})
            assert answer.status_code == 202, answer.text
        return job_id

    def _operation(self) -> str:
        """One that has done nothing."""
        answer = self._client.post(f"{CONSUMER}/dlq?fingerprint=none")
        assert answer.status_code == 202, answer.text
        return str(answer.json()["operation"]["id"])

    def _act(self, name: str, job_id: str) -> None:
        answer = self._client.post(f"/admin/jobs/{name}", json={"jobs": [job_id]})
        assert answer.json()["done"] == 1, answer.text

    def _put(self, path: str) -> None:
        answer = self._client.put(path, json=FIELDS[path])
        assert answer.status_code == 200, answer.text

    def _publish(self, headers: Mapping[str, str]) -> None:
        answer = self._client.post(f"{CHANNEL}/broadcast", content=b"known", headers=headers)
        assert answer.status_code in (201, 409), answer.text
