"""`broker bench publish` measures what it says, on a scratch database that it removes."""

import json
import subprocess
import sys

import pymysql
import pytest
from sqlalchemy import make_url

from tests.support.server import Server


def bench(database_url: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "broker", "--database-url", database_url, "bench", "publish", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_it_counts_every_message_that_it_published_and_gives_ratios(database_url: str) -> None:
    small = ("--messages", "500", "--connections", "5", "--rounds", "1", "--consumers", "2", "--json")
    done = bench(database_url, *small)
    assert done.returncode == 0, done.stderr
    measures = json.loads(done.stdout)["measures"]
    assert [measure["messages"] for measure in measures] == [200, 500, 1000]
    for measure in measures:
        ratio = measure["messagesPerSecond"] / measure["barePerSecond"]
        assert measure["ratioToBare"] == pytest.approx(ratio, rel=0.05)
        assert measure["brokerCpuPer1000"] > 0
        assert measure["databaseCpuPer1000"] is None or not database_url.startswith("sqlite")
        assert measure["answerP50Ms"] <= measure["answerP99Ms"]


def test_it_leaves_nothing_behind_on_the_server(server: Server, server_url: str) -> None:
    assert bench(server_url, "--messages", "500", "--connections", "2", "--rounds", "1").returncode == 0
    url = make_url(server_url)
    with pymysql.connect(
        host=url.host, port=url.port or 3306, user=url.username, password=url.password or ""
    ) as session:
        cursor = session.cursor()
        cursor.execute("SHOW DATABASES LIKE 'broker\\_bench\\_%'")
        assert cursor.fetchall() == ()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--messages", "0"), "--messages"),
        (("--connections", "many"), "--connections"),
        (("--payload", "-1"), "--payload"),
    ],
)
def test_a_bad_option_is_one_clear_line(sqlite_url: str, options: tuple[str, ...], says: str) -> None:
    done = bench(sqlite_url, *options)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr


def test_a_server_that_is_not_there_is_told_in_a_sentence() -> None:
    done = bench("mysql+pymysql://root@127.0.0.1:9/")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr and "127.0.0.1:9" in done.stderr
