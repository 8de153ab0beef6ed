"""Whoever shows wrong credentials waits as long as who asks for what does not exist: the same hashes are computed."""

import pytest

from broker.domain import tokens
from tests.support.brokers import Broker
from tests.support.walk import CHANNEL_TOKEN, register

WRONG = {"X-Broker-Channel-Token": "wrong", "X-Broker-Consumer-Token": "wrong"}
HALF_RIGHT = {"X-Broker-Channel-Token": CHANNEL_TOKEN, "X-Broker-Consumer-Token": "wrong"}


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every token that is hashed from now on; the hashing itself stays as it is."""
    seen: list[str] = []
    digest = tokens._digest

    def watched(salt: bytes, token: str) -> str:
        seen.append(token)
        return digest(salt, token)

    monkeypatch.setattr(tokens, "_digest", watched)
    return seen


@pytest.mark.parametrize("headers", [WRONG, HALF_RIGHT])
def test_a_refused_consumer_costs_the_same_hashes_whether_it_exists_or_not(
    broker: Broker, hashed: list[str], headers: dict[str, str]
) -> None:
    register(broker.client)
    work = []
    for path in ("/channel/channel/consumer/consumer", "/channel/channel/consumer/no", "/channel/no/consumer/no"):
        hashed.clear()
        assert broker.client.get(path, headers=headers).status_code == 403
        work.append(len(hashed))
    assert work == [2, 2, 2]


def test_a_refused_channel_costs_the_same_hashes_whether_it_exists_or_not(broker: Broker, hashed: list[str]) -> None:
    register(broker.client)
    hashed.clear()
    assert broker.client.get("/channel/channel", headers=WRONG).status_code == 403
    assert broker.client.get("/channel/no", headers=WRONG).status_code == 403
    assert hashed == ["wrong", "wrong"]
