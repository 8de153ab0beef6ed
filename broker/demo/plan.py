"""What the demo consists of."""

from collections.abc import Mapping

CHANNEL = PRODUCER = "demo"
MARK = "Demo, made by broker up --demo"
HOST = "127.68.69.77"
NETWORK = f"{HOST}/32"
FIRST, A_SECOND, MOST = 60, 2, 5_000
HEALTHY, FLAKY, BROKEN, PULL = "healthy", "flaky", "broken", "pull"
Fields = dict[str, object]

_QUICK: Fields = {"maxRetries": 2, "retryBase": 1, "consumerConcurrency": 8}
_PUSHED: Mapping[str, Fields] = {
    HEALTHY: {**_QUICK, "maxRetries": 10},
    FLAKY: {**_QUICK, "breakerThreshold": 0},
    BROKEN: {
        **_QUICK,
        "maxRetries": 0,
        "breakerOpen": 10,
        "expireAfter": 20,
        "dlqMaxSize": 500,
        "dlqFullPolicy": "archive_oldest",
    },
}


def consumers(port: int) -> dict[str, Fields]:
    """Each with what it is made with; the target listens on this port.

    Retries follow within seconds, so that jobs die while one watches. What waits behind the broken one's open breaker
    expires, so that its queue stays short; beyond 500 its oldest dead are archived.
    """
    pushed = {name: {"callbackUrl": f"http://{HOST}:{port}/{name}", **own} for name, own in _PUSHED.items()}
    return {**pushed, PULL: {"type": "pull"}}
