"""The line that gives Datadog a monitor sends what ships, with the keys; only the address is the test's own."""

import json

from tests.docs.pages import ROOT, shell_of
from tests.docs.walks import execute
from tests.support.target import Target

DATADOG = "https://api.datadoghq.com"


def test_the_line_posts_the_monitor_that_ships(target: Target) -> None:
    keys = "export DD_API_KEY=api-key DD_APP_KEY=app-key\n"
    lines = shell_of("docs/monitoring-datadog.md")
    assert lines.count(DATADOG) == 1
    execute(keys + lines.replace(DATADOG, target.url("")), ROOT)
    (sent,) = target.received
    assert (sent.method, sent.path, sent.headers["content-type"]) == ("POST", "/api/v1/monitor", "application/json")
    assert (sent.headers["dd-api-key"], sent.headers["dd-application-key"]) == ("api-key", "app-key")
    assert json.loads(sent.body) == json.loads((ROOT / "deploy/datadog/monitors/depth.json").read_text())
