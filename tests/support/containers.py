"""A MySQL server in a container, where a container engine answers."""

import contextlib
import gc
import secrets
import time
import warnings
from collections.abc import Iterator

from docker.errors import DockerException
from requests.exceptions import RequestException
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient
from testcontainers.core.exceptions import ContainerStartException

from tests.support.errors import NotHere, ServerFailed
from tests.support.home import END_SECONDS
from tests.support.killable import KillableServer
from tests.support.options import common_options
from tests.support.private_server import free_port

IMAGE = "mysql:8.4"
PORT = 3306
PING_SECONDS = 1
START_SECONDS = 120.0


class ContainerServer(KillableServer):
    """A server in a container that testcontainers removes, also when the tests are killed."""

    kind = "container"

    def __init__(self, container: DockerContainer, password: str) -> None:
        self._container = container
        host, port = container.get_container_host_ip(), container.get_exposed_port(PORT)
        super().__init__(f"mysql+pymysql://root:{password}@{host}:{port}/")

    @classmethod
    def start_new(cls, fast: bool = False) -> "ContainerServer":
        """Start a container, and wait until the server in it takes logins."""
        if not engine_answers():
            raise NotHere("no container engine answers")
        try:
            return cls._started(fast, secrets.token_hex(16))
        except (DockerException, RequestException, ContainerStartException, ServerFailed) as problem:
            raise NotHere(f"a container engine answers, but {IMAGE} does not start: {problem}") from problem

    @classmethod
    def _started(cls, fast: bool, password: str) -> "ContainerServer":
        container = _container(fast, password)
        try:
            server = cls(container.start(), password)
            server._await_login()
        except BaseException:
            container.stop()
            raise
        return server

    @property
    def running(self) -> bool:
        container = self._container.get_wrapped_container()
        container.reload()
        return bool(container.status == "running")

    def start(self) -> None:
        self._container.get_wrapped_container().start()
        self._await_login()

    def shut_down(self) -> None:
        self._container.get_wrapped_container().stop(timeout=int(END_SECONDS))

    def kill(self) -> None:
        self._container.get_wrapped_container().kill()
        self._container.get_wrapped_container().wait()

    def stop(self) -> None:
        """Remove the container and its data."""
        self._container.stop()

    def _await_login(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if not self.running or time.monotonic() > deadline:
                raise ServerFailed(f"the server in the container takes no logins:\n{self._log_tail()}")
            time.sleep(0.1)

    def _log_tail(self) -> str:
        return b"".join(self._container.get_logs()).decode(errors="replace")[-2000:]


def engine_answers() -> bool:
    """Whether there is a container engine that really answers, found out within about a second."""
    with _leaks_ignored():
        return _ping()


def _ping() -> bool:
    try:
        return bool(DockerClient(timeout=PING_SECONDS).client.ping())
    except (DockerException, RequestException):
        return False


@contextlib.contextmanager
def _leaks_ignored() -> Iterator[None]:
    """The docker package leaves the sockets of failed attempts to the garbage collector, which warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


def _container(fast: bool, password: str) -> DockerContainer:
    return (
        DockerContainer(IMAGE)
        .with_env("MYSQL_ROOT_PASSWORD", password)
        .with_bind_ports(PORT, free_port())
        .with_command(" ".join(common_options(fast)))
    )
