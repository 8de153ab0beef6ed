"""What the commands say of a schema that is missing, old, unknown or changed, and of a server that will not do."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

import broker
from broker.domain.clock import Clock
from broker.runtime.ports import free_port
from broker.store import schema
from broker.store.engine import Database
from tests.support.brokers import LiveBroker
from tests.support.private_server import PrivateServer

ROOT = Path(broker.__file__).parent.parent
NEXT_MIGRATION = """
from alembic import op

revision, down_revision = "0099", "{head}"


def upgrade() -> None:
    op.execute("CREATE TABLE newer (id INTEGER)")


def downgrade() -> None:
    op.execute("DROP TABLE newer")
"""


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """The folder of a newer broker: this one with one migration more."""
    folder = tmp_path / "newer"
    for name in ("broker", "migrations", "api-spec"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "migrations/versions/0099_newer.py").write_text(NEXT_MIGRATION.format(head=schema.head()))
    return folder


def run(url: str, *arguments: str, folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """A broker command of the program in this folder."""
    environment = {"PATH": os.environ["PATH"], "BROKER_CONFIG": "none", "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "broker", "--database-url", url, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def serve(url: str, folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    return run(url, "serve", "--listen", f"127.0.0.1:{free_port()}", folder=folder)


def upgrade(url: str) -> None:
    database = Database(url, Clock())
    schema.upgrade(database)
    database.dispose()


def by_hand(url: str, statement: str) -> None:
    database = Database(url, Clock())
    database.write("by hand", lambda c: c.execute(text(statement)))
    database.dispose()


def test_serving_without_a_schema_is_refused_with_the_command_to_run(database_url: str) -> None:
    refused = serve(database_url)
    assert refused.returncode == 1
    assert refused.stderr == "Error: The database has no schema yet. Run: broker db upgrade\n"


def test_serving_on_an_old_schema_is_refused_until_it_is_upgraded(database_url: str, newer: Path) -> None:
    upgrade(database_url)
    refused = serve(database_url, newer)
    assert refused.returncode == 1
    sentence = f"The database has schema {schema.head()}, this program needs 0099. Run: broker db upgrade"
    assert refused.stderr == f"Error: {sentence}\n"
    assert "The schema is 0099" in run(database_url, "db", "upgrade", folder=newer).stdout


def test_serving_on_a_schema_of_a_newer_broker_is_refused(database_url: str, newer: Path) -> None:
    assert run(database_url, "db", "upgrade", folder=newer).returncode == 0
    refused = serve(database_url)
    assert refused.returncode == 1
    assert "has schema 0099, which this program" in refused.stderr
    assert "Install the newer broker." in refused.stderr
    assert "Traceback" not in refused.stderr


def test_up_brings_its_own_file_up_to_date(sqlite_url: str, tmp_path: Path) -> None:
    live = LiveBroker(sqlite_url, tmp_path / "up.log", "up")
    try:
        assert httpx.get(f"{live.url}/readyz").status_code == 200
    finally:
        live.kill()
    database = Database(sqlite_url, Clock())
    assert schema.current(database) == schema.head()
    database.dispose()


def test_a_good_database_passes_the_check(database_url: str) -> None:
    upgrade(database_url)
    checked = run(database_url, "db", "check")
    assert checked.returncode == 0, checked.stderr
    assert "BAD" not in checked.stdout
    findings = json.loads(run(database_url, "db", "check", "--json").stdout)
    assert all(finding["good"] for finding in findings)
    expected = {"schema version", "tables", "version"}
    if not database_url.startswith("sqlite"):
        expected |= {"isolation of a session", "time zone of a session", "binary log", "max_allowed_packet",
                     "skips locked rows"}  # fmt: skip
    assert {finding["what"] for finding in findings} == expected


def test_the_check_tells_of_a_missing_and_of_a_changed_schema(database_url: str) -> None:
    missing = run(database_url, "db", "check")
    assert (missing.returncode, "Run: broker db upgrade" in missing.stdout) == (1, True)
    upgrade(database_url)
    by_hand(database_url, "DROP TABLE job_event")
    changed = run(database_url, "db", "check", "--json")
    assert changed.returncode == 1
    bad = [finding for finding in json.loads(changed.stdout) if not finding["good"]]
    assert [finding["what"] for finding in bad] == ["tables"]
    assert "job_event" in bad[0]["found"]


@pytest.fixture
def unfit_server() -> Iterator[PrivateServer]:
    """A server with a statement log and small packets, as its configuration may have it."""
    started = PrivateServer.start_new(("--log-bin=binary", "--server-id=1"), fast=True)
    yield started
    started.stop()


def test_the_check_tells_of_a_server_that_will_not_do(unfit_server: PrivateServer) -> None:
    url = unfit_server.create_database()
    upgrade(url)
    with unfit_server.connect() as connection:
        connection.execute(text("SET GLOBAL binlog_format = 'STATEMENT'"))
        connection.execute(text("SET GLOBAL max_allowed_packet = 1048576"))
    checked = run(url, "db", "check", "--json")
    assert checked.returncode == 1, checked.stderr
    bad = {finding["what"]: finding for finding in json.loads(checked.stdout) if not finding["good"]}
    assert {"binary log", "max_allowed_packet"} <= bad.keys()
    assert "binlog_format = ROW" in bad["binary log"]["advice"]
    assert "max_payload_bytes" in bad["max_allowed_packet"]["advice"]
    assert "STATEMENT" in run(url, "db", "check").stdout
    for refused in (serve(url), run(unfit_server.create_database(), "db", "upgrade")):
        assert refused.returncode == 3
        assert "BINLOG_FORMAT = STATEMENT" in refused.stderr
        assert "Traceback" not in refused.stderr
