"""Whether a container engine is noticed, and its absence quickly."""

import socket
import time

import pytest

from tests.support.containers import engine_answers
from tests.support.errors import NoServerFound
from tests.support.fake_engine import empty_engine
from tests.support.servers import Machine, find_server


def test_an_engine_that_answers_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    with empty_engine() as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        assert engine_answers()


@pytest.mark.parametrize("host", ["unix:///nonexistent/docker.sock", "tcp://127.0.0.1:9", "nonsense://"])
def test_no_engine_is_noticed_within_two_seconds(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    started = time.monotonic()
    assert not engine_answers()
    assert time.monotonic() - started < 2


def test_an_engine_that_never_replies_is_noticed_within_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        started = time.monotonic()
        assert not engine_answers()
        assert time.monotonic() - started < 2


def test_an_engine_without_the_image_does_not_end_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with empty_engine() as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        with pytest.raises(NoServerFound) as failure:
            find_server(Machine(given="", folders=(), may_install=False))
    tried = str(failure.value).splitlines()[2:]
    assert tried[1].startswith("- a container engine answers, but mysql:8.4 does not start: ")
    assert tried[2].startswith("- no mariadbd or mysqld")
