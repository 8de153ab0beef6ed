"""What stops a process waits longer than the process waits for its work."""

import pytest

from broker.runtime import companion, server, supervisor
from tests.support.deploy_files import manifest
from tests.support.deployed import WAYS

REQUESTS, ENGINE = server.STOP_SECONDS, supervisor.STOP_SECONDS
BOOKKEEPER = companion.STOP_SECONDS + companion.PAUSE_SECONDS


@pytest.mark.parametrize("way", WAYS)
def test_the_api_has_time_for_its_requests_and_its_bookkeeper(way: str) -> None:
    pause = pre_stop_seconds() if way == "kubernetes" else 0
    assert WAYS[way]().api.stop_seconds > pause + REQUESTS + BOOKKEEPER


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_has_time_for_its_deliveries(way: str) -> None:
    assert WAYS[way]().worker.stop_seconds > ENGINE


def pre_stop_seconds() -> int:
    """Kubernetes counts the hook as part of the time."""
    (container,) = manifest("Deployment", "broker")["spec"]["template"]["spec"]["containers"]
    program, seconds = container["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "sleep"
    return int(seconds)
