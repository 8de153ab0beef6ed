"""The command line as tests use it: on a database, or on a running broker by its address."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import func, select

from broker.cli.backend import Backend
from broker.cli.context import CliContext
from broker.cli.main import cli
from broker.domain.preconditions import Preconditions
from broker.store.tables import channel, job, message
from tests.support.brokers import ADMIN_TOKEN, LiveBroker, make_broker

TOKENS = {"BROKER_CHANNEL_TOKEN": "channel-token", "BROKER_PRODUCER_TOKEN": "producer-token"}
DATABASES = ("sqlite", "server")


@dataclass
class Commands:
    """`broker` with the global options of one way to the broker."""

    database_url: str
    url: str | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def options(self) -> list[str]:
        """What goes before the command."""
        return ["--url", self.url, "--token", ADMIN_TOKEN] if self.url else ["--database-url", self.database_url]

    def run(self, *arguments: str, input: str | bytes | None = None) -> Result:
        """Run in this process."""
        return run(*self.options, *arguments, input=input, **self.environment)

    def done(self, *arguments: str, input: str | bytes | None = None) -> str:
        """What a command that must succeed prints."""
        result = self.run(*arguments, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *arguments: str, input: str | bytes | None = None) -> Any:
        """The JSON of a command that must succeed."""
        return json.loads(self.done(*arguments, "--json", input=input))

    def refused(self, *arguments: str, code: int = 1, input: str | bytes | None = None) -> str:
        """What a command that must fail says; it has no answer to print."""
        result = self.run(*arguments, input=input)
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        return result.stderr

    def process(self, *arguments: str, **popen: Any) -> subprocess.Popen[bytes]:
        """Run as users do."""
        return process(*self.options, *arguments, environment=self.environment, **popen)

    @contextmanager
    def backend(self) -> Iterator[Backend]:
        """What the commands work on."""
        options: dict[str, object] = {"database_url": self.database_url}
        with CliContext(None, options, self.url, ADMIN_TOKEN).backend() as backend:
            yield backend

    def set_up(self, name: str, *consumers: str) -> None:
        """A channel of this name with pull consumers, and a producer `<name>-p`."""
        with self.backend() as backend:
            backend.channels.put((name,), {"token": "channel-token"}, Preconditions())
            backend.producers.put((f"{name}-p",), {"token": "producer-token"}, Preconditions())
            for consumer in consumers:
                backend.consumers.put((name, consumer), {"type": "pull"}, Preconditions())

    def payloads(self, name: str) -> list[bytes]:
        """What is stored in a channel, asked of the database itself."""
        query = select(message.c.payload).join(channel, channel.c.id == message.c.channelId)
        return [bytes(row[0]) for row in self._rows(query.where(channel.c.channelId == name))]

    def job_count(self, name: str) -> int:
        """How many jobs the messages of a channel have."""
        query = select(func.count()).select_from(job.join(message, job.c.messageId == message.c.id))
        query = query.join(channel, channel.c.id == message.c.channelId).where(channel.c.channelId == name)
        return int(self._rows(query)[0][0])

    def _rows(self, query: Any) -> list[Any]:
        made = make_broker(self.database_url, upgrade=False)
        try:
            return made.parts.database.read("test", lambda connection: list(connection.execute(query)))
        finally:
            made.parts.database.dispose()


def run(*arguments: str, input: str | bytes | None = None, **environment: str) -> Result:
    """A `broker` command in this process, without what the developer's own environment says."""
    clean = {name: None for name in os.environ if name.startswith("BROKER_") and not name.startswith("BROKER_TEST_")}
    return CliRunner().invoke(cli, arguments, input=input, env={**clean, "BROKER_CONFIG": "none", **environment})


def process(*arguments: str, environment: dict[str, str] | None = None, **popen: Any) -> subprocess.Popen[bytes]:
    """A `broker` command in a process of its own, with pipes unless told otherwise."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BROKER_")}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(
        [sys.executable, "-m", "broker", *arguments],
        env={**clean, "BROKER_CONFIG": "none", **(environment or {})},
        **{**pipes, **popen},
    )


def every_way(request: pytest.FixtureRequest, folder: Path) -> Iterator[dict[str, Commands]]:
    """All four: each database directly, and a running broker on another of its kind."""
    server = request.getfixturevalue("server")
    urls = [_fresh(kind, server, folder / f"{kind}-{number}") for kind in DATABASES for number in (1, 2)]
    served = dict(zip(DATABASES, urls[1::2], strict=True))
    with ThreadPoolExecutor() as pool:
        started = list(pool.map(lambda kind: LiveBroker(served[kind], folder / f"{kind}.log"), DATABASES))
    ways = {kind: Commands(direct) for kind, direct in zip(DATABASES, urls[::2], strict=True)}
    for kind, live in zip(DATABASES, started, strict=True):
        ways[f"{kind} by url"] = Commands(served[kind], live.url, TOKENS)
    yield ways
    for live in started:
        live.kill()
    for url in urls[2:]:
        server.drop_database(url)


def _fresh(kind: str, server: Any, file: Path) -> str:
    url = f"sqlite:///{file}.db" if kind == "sqlite" else str(server.create_database())
    make_broker(url).parts.database.dispose()
    return url
