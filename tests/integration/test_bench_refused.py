"""What a bench cannot begin with is one clear line and exit code 2; what stops it leaves nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL, make_url

from broker.runtime.ports import free_port
from tests.support.brokers import wait_until
from tests.support.cli import run
from tests.support.server import Server

BENCHES = ("all", "publish", "deliver", "latency", "dlq", "checkpoint")
SECONDS = 60
SCRATCH = r"SHOW DATABASES LIKE 'broker\_bench\_%'"


def refused(url: URL | str, *bench: str) -> str:
    """The one line that a bench says of this address."""
    text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    command = [sys.executable, "-m", "broker", "--database-url", text, "bench", *bench]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("Error: ")
    return done.stderr


@pytest.fixture
def address(server_url: str) -> URL:
    """Of the tests' server, without a database."""
    return make_url(server_url).set(database="")


@pytest.fixture
def small_user(server: Server, address: URL) -> Iterator[URL]:
    """Somebody who may log in and do nothing else."""
    name = f"small_{os.getpid()}"
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE USER '{name}'@'%%' IDENTIFIED BY 'right'")
    yield address.set(username=name, password="right")
    with server.connect() as connection:
        connection.exec_driver_sql(f"DROP USER '{name}'@'%%'")


@pytest.mark.parametrize("bench", BENCHES)
def test_nobody_listens_there(bench: str) -> None:
    port = free_port()
    assert f"The database at 127.0.0.1:{port} cannot be used: " in refused(
        f"mysql+pymysql://root@127.0.0.1:{port}/", bench
    )


def test_the_address_is_wrong(address: URL) -> None:
    assert "nowhere.invalid" in refused(address.set(host="nowhere.invalid"), "publish")
    assert "not the address of a database" in refused("mysql+pymysql://root@127.0.0.1:port/", "publish")
    assert "must begin with sqlite://" in refused("postgresql://root@127.0.0.1/", "publish")
    assert "'surprise'" in refused(address.update_query_dict({"surprise": "1"}), "publish")


def test_the_password_is_wrong_and_is_not_shown(small_user: URL) -> None:
    said = refused(small_user.set(password="quite-wrong"), "checkpoint")
    assert "Access denied" in said and "quite-wrong" not in said


def test_a_certificate_option_is_wrong(address: URL, tmp_path: Path) -> None:
    bare = address.set(query={})
    missing = tmp_path / "missing.pem"
    said = refused(bare.update_query_dict({"ssl_ca": str(missing)}), "deliver")
    assert f"(ssl_ca={missing})" in said and "No such file" in said
    (tmp_path / "not.pem").write_text("no certificate")
    assert "not.pem" in refused(bare.update_query_dict({"ssl_ca": str(tmp_path / "not.pem")}), "deliver")


def test_the_user_may_not_create_databases(small_user: URL) -> None:
    said = refused(small_user, "dlq")
    assert "does not let this user create the bench's own database: Access denied" in said and "right" not in said


def test_a_server_is_not_what_it_measures() -> None:
    result = run("--url", "http://127.0.0.1:8080", "bench", "all")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "This command works on the database, so it cannot be given --url." in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("all", "--scale", "0"),
        ("all", "--rounds", "many"),
        ("checkpoint", "--dead", "10"),
        ("checkpoint", "--deaths", "50001"),
        ("checkpoint", "--rounds", "0"),
    ],
)
def test_a_bad_option_is_named(sqlite_url: str, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "broker", "--database-url", sqlite_url, "bench", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Error: Invalid value for '{options[1]}'" in done.stderr


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("bench", [("publish", "--messages", "100000"), ("checkpoint", "--rounds", "100")])
def test_who_stops_it_finds_its_database_gone(
    server: Server, server_url: str, bench: tuple[str, ...], ending: int
) -> None:
    command = [sys.executable, "-m", "broker", "--database-url", server_url, "bench", *bench]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    with process:
        wait_until(lambda: bool(scratches(server)), SECONDS)
        os.killpg(process.pid, ending)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (130, b"", b"\n")
    assert scratches(server) == []
    assert not Path(f"/proc/{process.pid}").exists()


def scratches(server: Server) -> list[str]:
    """The scratch databases that are there."""
    with server.connect() as connection:
        return [row[0] for row in connection.exec_driver_sql(SCRATCH.replace("%", "%%"))]
