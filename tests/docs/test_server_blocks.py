"""Shell lines that need a MySQL-protocol server run on a real one; the addresses are the test's own."""

import re
from pathlib import Path
from shlex import quote

from broker.runtime.ports import free_port
from tests.docs.pages import shell_blocks, shell_of
from tests.docs.walks import PROGRAMS, execute, link_programs

DATABASE = "mysql+pymysql://broker:password@db.example/broker"


def test_the_lines_for_mysql_in_the_readme_start_a_broker_there(tmp_path: Path, server_url: str) -> None:
    link_programs(tmp_path)
    (lines,) = [block for block in shell_blocks("README.md") if DATABASE in block]
    port = free_port()
    script = own(lines, {DATABASE: server_url, "0.0.0.0:8080": f"127.0.0.1:{port}"})
    printed = execute(f"{PROGRAMS}\n{script}\n{until_ready(port)}", tmp_path)
    assert re.search(r"^The schema is \d+ \(it was not there\)\.$", printed, re.MULTILINE)
    assert re.search(r"^ok +skips locked rows +yes, tried with two sessions$", printed, re.MULTILINE)
    assert "BAD" not in printed
    assert "delivers with" in printed
    assert printed.count("Stopped.") == 2


def test_two_instances_of_each_work_on_one_database(tmp_path: Path, server_url: str) -> None:
    link_programs(tmp_path)
    ports = {f"127.0.0.1:{given}": f"127.0.0.1:{free_port()}" for given in (8081, 8082)}
    script = own(shell_of("docs/scaling.md"), {DATABASE: server_url, **ports})
    printed = execute(f"{PROGRAMS}\n{script}", tmp_path)
    assert printed.count('{"status": "ok"}\n') == 2
    assert printed.count("delivers with 1 process.") == 2
    assert re.search(r"^Published /channel/orders/message/\w+$", printed, re.MULTILINE)
    assert re.search(r"^orders +reports +0 ", printed, re.MULTILINE)
    assert printed.count("Stopped.") == 4


def own(script: str, places: dict[str, str]) -> str:
    """The lines with addresses of the test's own, each of which must be there."""
    for given, ours in places.items():
        assert given in script, given
        script = script.replace(given, quote(ours))
    return script


def until_ready(port: int) -> str:
    return f"curl -sS --retry 60 --retry-connrefused --retry-delay 1 http://127.0.0.1:{port}/readyz"
