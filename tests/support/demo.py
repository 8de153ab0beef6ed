"""`broker up --demo` as people start it, and what it then has to show."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import create_engine, func, select, text
from sqlalchemy.pool import NullPool

from broker.config import load
from broker.operations.parts import Parts
from broker.store.tables import metadata
from broker.wiring import build_parts
from tests.support.brokers import ADMIN, ADMIN_TOKEN, LiveBroker, clean_environment
from tests.support.metrics import dead_jobs

OF_THE_BROKER = {"lock", "dlq_run", "dlq_history"}
CONSUMERS = ["healthy", "flaky", "broken", "pull"]
Names = list[tuple[str, str]]


def start_demo(database_url: str, folder: Path, *options: str, **environment: str) -> LiveBroker:
    """It answers; what there is to see comes within the minute."""
    return LiveBroker(database_url, folder / "demo.log", "up", ("--demo", *options), **environment)


def refused_demo(database_url: str) -> str:
    """What `broker up --demo` says when it does not start."""
    command = [sys.executable, "-m", "broker", "--database-url", database_url, "up", "--demo"]
    own = {"BROKER_CONFIG": "none", "BROKER_LISTEN": "127.0.0.1:0", "BROKER_ADMIN_TOKEN": ADMIN_TOKEN}
    environment = {**clean_environment(), **own}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, ""), done.stdout + done.stderr
    return done.stderr


def dead_by_status(live: LiveBroker) -> dict[str, int]:
    """What /dlq-status says of the demo's consumers."""
    return {one["consumerId"]: one["deadCount"] for one in asked(live, "/dlq-status?channel=demo")["consumers"]}


def dead_by_gauge(live: LiveBroker) -> dict[str, float]:
    """What /metrics says of them."""
    exposition = httpx.get(f"{live.url}/metrics").raise_for_status().text
    return {consumer: count for (channel, consumer), count in dead_jobs(exposition).items() if channel == "demo"}


def count_of(live: LiveBroker, consumer: str, status: str) -> int:
    """How many of a consumer's jobs have a status."""
    tallies = asked(live, "/job-status")["demo"][consumer]
    return next(int(one["count"]) for one in tallies if one["status"] == status)


def asked(live: LiveBroker, path: str) -> Any:
    """A document of the API."""
    return httpx.get(f"{live.url}{path}", headers=ADMIN).raise_for_status().json()


def asked_openly(live: LiveBroker, path: str) -> Any:
    """What needs no token."""
    return httpx.get(f"{live.url}{path}").raise_for_status().json()


def row_counts(database_url: str) -> dict[str, int]:
    """How many rows each table has, but for those that a broker keeps about itself."""
    tables = [table for table in metadata.sorted_tables if table.name not in OF_THE_BROKER]
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        return {one.name: connection.execute(select(func.count()).select_from(one)).scalar_one() for one in tables}


def history_of_the_gone(database_url: str) -> int:
    """How many checkpoints are kept of consumers that are there no more."""
    gone = "SELECT COUNT(*) FROM dlq_history WHERE consumerId NOT IN (SELECT id FROM consumer)"
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        return int(connection.execute(text(gone)).scalar_one())


def registered(database_url: str) -> Names:
    """Ids and names of all producers, channels and consumers, those that were deleted too."""
    found: Names = []
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        for table in (metadata.tables[name] for name in ("producer", "channel", "consumer")):
            rows = connection.execute(select(table.c[f"{table.name}Id"], table.c.name).order_by(table.c.id))
            found += [(f"{table.name} {row[0]}", str(row[1])) for row in rows]
    return found


def make_parts(database_url: str) -> Parts:
    """The parts of one process, as the demo's own has them."""
    return build_parts(load(None, {"BROKER_CONFIG": "none"}, {"database_url": database_url}))
