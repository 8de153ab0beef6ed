"""promtool reads what `broker dlq status --format prometheus` says."""

import subprocess

import pytest

from tests.support.brokers import make_broker
from tests.support.cli import run
from tests.support.jobs import act, make_jobs
from tests.support.states import checkpoint
from tests.support.tools import path_of
from tests.support.walk import register

AGREED = {
    'dead_job_count non-histogram and non-summary metrics should not have "_count" suffix',
}


@pytest.mark.tool("promtool")
def test_promtool_reads_it_and_has_nothing_to_say_but_of_one_name(sqlite_url: str) -> None:
    broker = make_broker(sqlite_url)
    register(broker.client)
    act(broker.client, "fail", *make_jobs(broker.client, 2))
    checkpoint(broker)
    broker.parts.database.dispose()
    told = run("--database-url", sqlite_url, "dlq", "status", "--format", "prometheus")
    assert 'dead_job_count{channel="channel",consumer="consumer"} 2\n' in told.stdout
    checked = subprocess.run(
        [path_of("promtool"), "check", "metrics"], input=told.stdout, capture_output=True, text=True, check=False
    )
    assert set((checked.stdout + checked.stderr).splitlines()) == AGREED
