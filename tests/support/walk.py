"""Shorthand for what most tests do through the public API: make a channel with a producer and consumers, publish."""

from typing import Any

from flask.testing import FlaskClient

from tests.support.brokers import ADMIN

CHANNEL_TOKEN, PRODUCER_TOKEN = "channel-token", "producer-token"
PUBLISHER = {
    "X-Broker-Channel-Token": CHANNEL_TOKEN,
    "X-Broker-Producer-ID": "producer",
    "X-Broker-Producer-Token": PRODUCER_TOKEN,
}


def register(client: FlaskClient, channel: str = "channel", consumers: tuple[str, ...] = ("consumer",)) -> None:
    """A producer, a channel, and pull consumers."""
    for path, fields in (
        ("/producer/producer", {"token": PRODUCER_TOKEN}),
        (f"/channel/{channel}", {"token": CHANNEL_TOKEN}),
        *((f"/channel/{channel}/consumer/{name}", {"type": "pull", "token": f"{name}-token"}) for name in consumers),
    ):
        answer = client.put(path, json=fields, headers=ADMIN)
        assert answer.status_code == 200, answer.text


def publish(client: FlaskClient, body: bytes = b"hello", channel: str = "channel", **headers: str) -> Any:
    """POST one message; keyword `message_id` becomes X-Broker-Message-ID and so on."""
    return client.post(f"/channel/{channel}/broadcast", data=body, headers={**PUBLISHER, **headers})
