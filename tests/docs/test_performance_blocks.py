"""The bench commands of the page work as they are written, but for the server's address and smaller sizes."""

import re
from pathlib import Path
from shlex import quote

import pytest

from tests.docs.pages import shell_of
from tests.docs.walks import PROGRAMS, execute, link_programs

SERVER = "mysql+pymysql://root@127.0.0.1:3306/"
COMMAND = re.compile(rf"^broker --database-url {re.escape(SERVER)} bench (\w+)( .*)?$")

# Put in place of the sizes that are written, so lines that differ in a size alone are one.
SMALL = {
    "publish": "--messages 500 --connections 5 --rounds 1",
    "deliver": "--jobs 200 --rounds 1 --workers 1",
    "latency": "--seconds 1 --workers 1",
    "dlq": "--dead 1000 --rounds 1 --requests 10 --deaths 10 --rows 100",
    "checkpoint": "--dead 1000 --rounds 1 --deaths 100",
    "all": "--scale 0.1 --rounds 1 --workers 1",
}
SIZE = re.compile(r" --(?:rounds|dead|deaths|jobs|messages|seconds|scale) \S+")
BACKLOG = re.compile(r"(?<= --backlog )\d+")
SHOWN = {
    "publish": "messages/s",
    "deliver": "jobs/s",
    "latency": "p99",
    "dlq": "/dlq-status",
    "checkpoint": "bootstrap",
    "all": "ratio",
}


def lines() -> list[str]:
    """Every line of the page's shell blocks."""
    return [line for line in shell_of("docs/performance.md").splitlines() if line]


def test_every_line_is_a_bench() -> None:
    assert [line for line in lines() if not COMMAND.match(line)] == []
    assert {found[1] for line in lines() if (found := COMMAND.match(line))} == set(SMALL)


def small(line: str) -> str:
    """The line with small sizes."""
    found = COMMAND.match(line)
    assert found, line
    return f"{BACKLOG.sub('500', SIZE.sub('', line))} {SMALL[found[1]]}"


@pytest.mark.parametrize(
    "line", sorted({small(line) for line in lines()}), ids=lambda line: line.partition(" bench ")[2]
)
def test_a_bench_of_the_page_shows_its_figures(tmp_path: Path, server_url: str, line: str) -> None:
    link_programs(tmp_path)
    printed = execute(f"{PROGRAMS}\n{line.replace(SERVER, quote(server_url))}", tmp_path)
    assert SHOWN[line.partition(" bench ")[2].split()[0]] in printed
    assert re.search(r"\d", printed)
