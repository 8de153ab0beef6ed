"""The server as deploy/mysql configures it, with the accounts that it makes."""

import configparser
import os
import re
import subprocess
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError, ProgrammingError

from tests.support.brokers import make_broker
from tests.support.cli import run
from tests.support.deploy_files import DEPLOY, compose, environment_file
from tests.support.deployed import PASSWORD
from tests.support.private_server import free_port
from tests.support.shipped_server import SETTINGS, ShippedServer
from tests.support.walk import publish, register

pytestmark = pytest.mark.tool("mariadbd")
SECRETS = dict.fromkeys(environment_file(DEPLOY / "docker" / ".env.example"), "secret")
LARGEST = 16_000_000
SHOWN_AS = {"default_time_zone": "time_zone"}
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


@pytest.fixture(scope="module")
def shipped() -> Iterator[ShippedServer]:
    server = ShippedServer.start_new()
    yield server
    server.stop()


@pytest.fixture
def accounts(shipped: ShippedServer) -> ShippedServer:
    """With an empty database, and accounts that have passwords."""
    shipped.renew_database()
    shipped.make_accounts(PASSWORD)
    return shipped


def url(server: ShippedServer, account: str) -> str:
    return server.url_of(f"mysql+pymysql://{account}:{PASSWORD}@db.example/broker")


def wanted(brand: str) -> dict[str, str]:
    """What the file says to this brand of server."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(SETTINGS)
    sections = ("mysqld", "mariadb") if "MariaDB" in brand else ("mysqld", f"mysqld-{'.'.join(brand.split('.')[:2])}")
    found = {
        name: value for section in sections if parser.has_section(section) for name, value in parser.items(section)
    }
    return {SHOWN_AS.get(name, name.removeprefix("loose_")): _as_shown(value) for name, value in found.items()}


def _as_shown(value: str) -> str:
    size = re.fullmatch(r"(\d+)([KMG])", value)
    return str(int(size[1]) * UNITS[size[2]]) if size else value


def test_every_setting_is_in_force(shipped: ShippedServer) -> None:
    found = shipped.variables()
    asked = wanted(shipped.version)
    if "MariaDB" in shipped.version:
        del asked["innodb_redo_log_capacity"]
    known = {name: value for name, value in asked.items() if name != "log_bin"}
    assert len(known) >= 11
    assert {name: found[name] for name in known} == known
    assert (found["log_bin"], found["log_bin_basename"].rpartition("/")[2]) == ("ON", asked["log_bin"])
    assert found["binlog_format"] == "ROW"


def test_the_server_has_nothing_to_say_about_its_settings(shipped: ShippedServer) -> None:
    """But that MariaDB does not know the one of MySQL, which is marked for that."""
    told = [line for line in shipped.log_tail(500).splitlines() if re.search(r"unknown (?:var|opt)|deprecated", line)]
    assert [line for line in told if "innodb_redo_log_capacity" not in line] == []


def test_the_broker_is_content(accounts: ShippedServer) -> None:
    """Also where the largest payloads are allowed."""
    assert run("--database-url", url(accounts, "broker_migrate"), "db", "upgrade").exit_code == 0
    checked = run("--database-url", url(accounts, "broker"), "db", "check", BROKER_MAX_PAYLOAD_BYTES=str(LARGEST))
    assert checked.exit_code == 0, checked.output
    for told in ("READ COMMITTED", "+00:00", "ROW", f"{64 * 2**20} bytes", "tried with two sessions"):
        assert told in checked.stdout


def test_the_largest_payload_goes_in(accounts: ShippedServer) -> None:
    assert run("--database-url", url(accounts, "broker_migrate"), "db", "upgrade").exit_code == 0
    broker = make_broker(url(accounts, "broker"), upgrade=False, max_payload_bytes=LARGEST)
    try:
        register(broker.client)
        assert publish(broker.client, b"\xff" * LARGEST).status_code == 201
    finally:
        broker.parts.database.dispose()


def test_the_account_that_serves_cannot_change_a_table(accounts: ShippedServer) -> None:
    refused = "denied to user 'broker'@"
    with create_engine(url(accounts, "broker")).connect() as connection:
        for statement in ("CREATE TABLE x (y INT)", "DROP DATABASE broker"):
            with pytest.raises((OperationalError, ProgrammingError), match="denied"):
                connection.exec_driver_sql(statement)
        with pytest.raises((OperationalError, ProgrammingError), match=refused):
            connection.exec_driver_sql("SELECT * FROM mysql.user")


def test_an_account_without_a_password_of_ones_own_is_shut(shipped: ShippedServer) -> None:
    shipped.run_sql("DROP USER IF EXISTS 'broker'@'%'")
    shipped.renew_database()
    for password in ("", PASSWORD):
        engine = create_engine(shipped.url_of(f"mysql+pymysql://broker:{password}@db.example/broker"))
        with pytest.raises(OperationalError, match=r"locked|Access denied"):
            engine.connect()


def test_the_health_check_of_the_compose_file_knows_a_server_from_none(shipped: ShippedServer) -> None:
    (kind, *command) = compose(SECRETS)["services"]["mysql"]["healthcheck"]["test"]
    assert kind == "CMD"
    for port, healthy in ((shipped.port, True), (free_port(), False)):
        environment = {**os.environ, "MYSQL_TCP_PORT": str(port)}
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert (done.returncode == 0) is healthy, done.stderr
