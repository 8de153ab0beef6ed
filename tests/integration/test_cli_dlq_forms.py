"""`broker dlq status` as a table, as JSON, and as what `/metrics` shows of the dead: the same figures in each."""

import httpx
import pytest

from tests.support.brokers import ADMIN
from tests.support.cli import Commands
from tests.support.dead_commands import make_dead
from tests.support.metrics import dead_jobs, sample, samples

pytestmark = pytest.mark.xdist_group("cli")
PROMETHEUS = ("dlq", "status", "--format", "prometheus")
CHANGING = ("_age_seconds", "_dead_seconds", "_lock_held")
SETTING = "broker_dlq_checkpoint_interval_seconds"


def of_the_dead(text: str) -> dict[object, float]:
    """Samples of the dead, but for those that every moment changes."""
    found = samples(text).items()
    mine = ((key, value) for key, value in found if key[0].startswith(("dead_job_count", "broker_dlq_")))
    return {key: value for key, value in mine if not key[0].endswith(CHANGING) and key[0] != SETTING}


def headings(text: str) -> list[str]:
    """The families, each with what it says of itself."""
    marks = ("# HELP dead_job_count ", "# TYPE dead_job_count ", "# HELP broker_dlq_", "# TYPE broker_dlq_")
    return [line for line in text.splitlines() if line.startswith(marks) and SETTING not in line]


def test_the_forms_have_the_same_figures(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 5, counted=3)
    text = each_commands.done(*PROMETHEUS, "--channel", name)
    assert dead_jobs(text) == {(name, "c"): 5}
    here = {"channel": name, "consumer": "c"}
    assert sample(text, "broker_dlq_checkpointed", **here) == 3
    assert sample(text, "broker_dlq_died_total", **here) == 5
    assert sample(text, "broker_dlq_utilization_percent", **here) == 0.05
    assert sample(text, "broker_dlq_stale") == 0
    ask = ("dlq", "status", "--channel", name)
    shown, again = each_commands.json(*ask), each_commands.json(*ask, "--format", "json")
    assert shown["consumers"][0]["deadCount"] == 5
    assert shown.pop("asOf") <= again.pop("asOf")
    assert again == shown
    table = each_commands.done(*ask, "--format", "table").splitlines()[1].split()
    assert table[:4] == [name, "c", "5", "3"]


@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_it_is_what_metrics_shows_of_the_dead(ways: dict[str, Commands], kind: str, name: str) -> None:
    commands = ways[f"{kind} by url"]
    make_dead(commands, name, 2, counted=1)
    scraped = httpx.get(f"{commands.url}/metrics", headers=ADMIN).text
    for told in (commands.done(*PROMETHEUS), Commands(commands.database_url).done(*PROMETHEUS)):
        assert of_the_dead(told) == of_the_dead(scraped)
        assert headings(told) == headings(scraped)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1", "text/plain"),
        ("text/plain", "text/plain"),
        ("text/plain; version=0.0.4; charset=utf-8", "text/plain"),
        ("*/*", "application/json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("application/json, text/plain", "application/json"),
        ("application/json;q=0.1, text/plain;q=0.9", "text/plain"),
        ("", "application/json"),
    ],
)
def test_a_caller_gets_text_where_it_would_rather_have_it(ways: dict[str, Commands], accept: str, kind: str) -> None:
    answer = httpx.get(f"{ways['sqlite by url'].url}/dlq-status", headers={**ADMIN, "Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].partition(";")[0] == kind
