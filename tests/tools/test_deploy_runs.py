"""The processes of every way to deploy, started exactly as its files say, from the wheel, on a server as it ships."""

import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support.brokers import ADMIN, wait_until
from tests.support.deployed import PASSWORD, WAYS, Deployment, Get, Health, Process
from tests.support.installed import PLACE, Installed, end
from tests.support.private_server import free_port
from tests.support.shipped_server import ShippedServer
from tests.support.target import Target
from tests.support.walk import CHANNEL_TOKEN, PRODUCER_TOKEN, PUBLISHER

pytestmark = pytest.mark.tool("mariadbd")
PORTS = ("8080", "9464")
START_SECONDS = 60.0
LOOPBACK = {"BROKER_DELIVERY_ALLOWED_NETWORKS": "127.0.0.0/8"}


@dataclass
class Running:
    """A process of a deployment on ports of its own."""

    process: Process
    installed: Installed
    server: ShippedServer
    log: Path
    ports: dict[str, str] = field(default_factory=lambda: {port: str(free_port()) for port in PORTS})

    def start(self) -> None:
        command = [self._here(word) for word in self.process.command]
        environment = {name: self._here(value) for name, value in self.process.environment.items()}
        if environment["BROKER_DATABASE_URL"].startswith("mysql"):
            environment["BROKER_DATABASE_URL"] = self.server.url_of(environment["BROKER_DATABASE_URL"])
        self._popen = self.installed.start(command, {**environment, **LOOPBACK}, self.log)

    def _here(self, word: str) -> str:
        """The same words, but for the place, the address and the port."""
        address = re.sub(
            r"^(?:(?:0\.0\.0\.0|127\.0\.0\.1):)?(8080|9464)$",
            lambda found: found[0].replace("0.0.0.0", "127.0.0.1").replace(found[1], self.ports[found[1]]),
            word,
        )
        return self.installed.here(address)

    def url(self, port: str) -> str:
        return f"http://127.0.0.1:{self.ports[port]}"

    def wait_ready(self, port: str) -> None:
        wait_until(lambda: self._ready(port), START_SECONDS, lambda: self.log.read_text()[-3000:])

    def _ready(self, port: str) -> bool:
        assert self._popen.poll() is None, self.log.read_text()[-3000:]
        return self.check(Get(int(port), "/readyz"))

    def check(self, health: Health) -> bool:
        """What this health check says, asked as its tool asks it."""
        if isinstance(health, Get):
            try:
                return httpx.get(self.url(str(health.port)) + health.path, timeout=5).is_success
            except httpx.HTTPError:
                return False
        command = [self._here(word) for word in health]
        path = self._here(self.process.environment["PATH"])
        return self.installed.start(command, {"PATH": path}, self.log).wait(START_SECONDS) == 0

    def ended(self) -> int:
        return self._popen.wait(START_SECONDS)

    def stop(self) -> None:
        """In its grace time, after which its tool would kill it."""
        self._popen.send_signal(signal.SIGTERM)
        try:
            assert self._popen.wait(self.process.stop_seconds) == 0, self.log.read_text()[-3000:]
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it would have been killed:\n{self.log.read_text()[-3000:]}") from None

    def end(self) -> None:
        end(self._popen)


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    made = Installed()
    yield made
    made.close()


@pytest.fixture(scope="module")
def shipped() -> Iterator[ShippedServer]:
    server = ShippedServer.start_new()
    try:
        server.make_accounts(PASSWORD)
        yield server
    finally:
        server.stop()


@pytest.fixture
def start(installed: Installed, shipped: ShippedServer, tmp_path: Path) -> Iterator["Start"]:
    starting = Start(installed, shipped, tmp_path)
    yield starting
    for one in starting.running:
        one.end()


@dataclass
class Start:
    installed: Installed
    server: ShippedServer
    folder: Path
    running: list[Running] = field(default_factory=list)

    def __call__(self, process: Process) -> Running:
        log = self.folder / f"{len(self.running)}.log"
        self.running.append(Running(process, self.installed, self.server, log))
        self.running[-1].start()
        return self.running[-1]


@pytest.mark.parametrize("way", WAYS)
def test_a_message_is_delivered_by_what_the_files_start(way: str, start: Start, target: Target) -> None:
    deployment = WAYS[way]()
    migrate(deployment, start)
    api, *workers = started = [start(one) for one in (deployment.api, deployment.worker, deployment.worker)]
    for one, port in zip(started, ("8080", "9464", "9464"), strict=True):
        one.wait_ready(port)
    publish(api.url("8080"), target)
    assert [one.body for one in target.wait_for(1)] == [b"hello"]
    assert all("\ndead_job_count" in httpx.get(f"{one.url('9464')}/metrics").text for one in workers)
    for one in reversed(started):
        assert [health for health in one.process.health if not one.check(health)] == []
        one.stop()
        assert [health for health in one.process.health if one.check(health)] == []


def migrate(deployment: Deployment, start: Start) -> None:
    """Twice: a Job may be tried again."""
    start.server.renew_database()
    if "//broker:" in deployment.migrate.environment["BROKER_DATABASE_URL"]:
        start.server.run_sql("GRANT ALL ON broker.* TO 'broker'@'%'")  # as the image of MySQL does for MYSQL_USER
    for _ in range(2):
        one = start(deployment.migrate)
        assert one.ended() == 0, one.log.read_text()


def publish(url: str, target: Target) -> None:
    fields = {
        "/producer/producer": {"token": PRODUCER_TOKEN},
        "/channel/channel": {"token": CHANNEL_TOKEN},
        "/channel/channel/consumer/consumer": {"callbackUrl": target.url()},
    }
    with httpx.Client(base_url=url) as client:
        for path, given in fields.items():
            assert client.put(path, json=given, headers=ADMIN).status_code == 200
        assert client.post("/channel/channel/broadcast", content=b"hello", headers=PUBLISHER).status_code == 201


def test_the_package_brings_all_it_needs(installed: Installed, tmp_path: Path) -> None:
    """Its own modules, migrations and API description, none of them from the source tree."""
    log = tmp_path / "log"
    show = (
        "import broker, broker.resources as r; print(broker.__file__, r.resource('migrations'), r.resource('api-spec'))"
    )
    assert installed.start([str(installed.opt / "bin" / "python"), "-c", show], {}, log).wait(60) == 0, log.read_text()
    assert all(word.startswith(f"{installed.opt}/") for word in log.read_text().split())


def test_everything_in_one_process_tree_runs_from_the_package(start: Start, installed: Installed) -> None:
    """On SQLite, as somebody who tries the image out."""
    file = installed.temporary() / "broker.db"
    environment = {"BROKER_LISTEN": "0.0.0.0:8080", "BROKER_DATABASE_URL": f"sqlite:///{file}"}
    one = start(Process([f"{PLACE}/bin/broker", "up"], environment, stop_seconds=60))
    one.wait_ready("8080")
    one.stop()
