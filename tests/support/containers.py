"""A MySQL server in a container, where a container engine answers."""

import secrets
import time

from docker.errors import DockerException  # type: ignore[import-untyped]
from requests.exceptions import RequestException
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient

from tests.support.errors import NotHere, ServerFailed
from tests.support.options import common_options
from tests.support.server import Server

IMAGE = "mysql:8.4"
PORT = 3306
PING_SECONDS = 1
START_SECONDS = 120.0


class ContainerServer(Server):
    """A server in a container that testcontainers removes, also when the tests are killed."""

    kind = "container"

    def __init__(self, container: DockerContainer, password: str) -> None:
        self._container = container
        host, port = container.get_container_host_ip(), container.get_exposed_port(PORT)
        super().__init__(f"mysql+pymysql://root:{password}@{host}:{port}/")

    @classmethod
    def start_new(cls, fast: bool = False) -> "ContainerServer":
        """Start a container, and wait until the server in it takes logins."""
        try:
            return cls._started(fast, secrets.token_hex(16))
        except (DockerException, RequestException, ServerFailed) as problem:
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

    def stop(self) -> None:
        """Remove the container and its data."""
        self._container.stop()

    def _await_login(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if time.monotonic() > deadline:
                raise ServerFailed(f"no login within {START_SECONDS:.0f} s")
            time.sleep(0.2)


def engine_answers() -> bool:
    """Whether there is a container engine that really answers, found out within about a second."""
    try:
        return bool(DockerClient(timeout=PING_SECONDS).client.ping())
    except (DockerException, RequestException):
        return False


def _container(fast: bool, password: str) -> DockerContainer:
    return (
        DockerContainer(IMAGE)
        .with_env("MYSQL_ROOT_PASSWORD", password)
        .with_exposed_ports(PORT)
        .with_command(" ".join(common_options(fast)))
    )
