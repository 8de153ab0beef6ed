"""What the pages say in passing is what the program, the rules and the measurements say."""

import re

import pytest
import yaml

from broker.domain.settings import BY_KEY
from tests.docs.pages import ROOT, headings, pages

ALERTS = {
    "DLQDepthHigh", "DLQGrowing", "DLQUtilizationHigh", "DLQOldestDeadTooOld", "DLQCheckpointLate", "DLQDrift",
    "DLQUnknown", "DeliverySuccessLow", "DeliveryBurnRateHigh", "QueueOldestDueLate", "BrokerGone",
}  # fmt: skip
NOT_METRICS = {"broker_id", "broker_migrate"}


def read(page: str) -> str:
    """A file of the repository."""
    return (ROOT / page).read_text()


def test_the_runbook_has_a_section_for_each_alert_and_no_other() -> None:
    sections = [heading for heading in headings("docs/runbook.md") if heading != "Runbook"]
    assert sorted(sections) == sorted(ALERTS)


def test_the_alerts_are_those_that_are_shipped() -> None:
    files = sorted((ROOT / "deploy" / "prometheus" / "rules").glob("*.yml"))
    rules = [rule for file in files for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
    assert {rule["alert"] for rule in rules if "alert" in rule} == ALERTS


@pytest.mark.parametrize("alert", sorted(ALERTS))
def test_each_section_says_what_to_look_at_what_to_do_and_when_it_is_over(alert: str) -> None:
    section = read("docs/runbook.md").split(f"\n## {alert}\n")[1].split("\n## ")[0]
    assert re.search(r"^Look(?: and do)?: ", section, re.MULTILINE)
    assert re.search(r"^(?:Do|Look and do): ", section, re.MULTILINE)
    assert re.search(r"^Over when ", section, re.MULTILINE)


def test_the_figures_of_the_readme_are_those_of_the_performance_page() -> None:
    table = read("README.md").split("\n## How fast\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines() if row.startswith("| ")][
        1:
    ]
    assert len(rows) == 3
    for _, figure, ratio, _ in rows:
        assert re.search(rf"^\|.*\| {figure} \|.*\b{ratio.split()[0]}\b", read("docs/performance.md"), re.MULTILINE)
    latencies = re.findall(r"(\d+ ms) \((?:median|99 %)\)", table)
    assert len(latencies) == 2
    assert f"| {latencies[0]} | {latencies[1]} |" in read("docs/performance.md")


def test_every_metric_that_a_page_names_is_in_the_list_of_metrics() -> None:
    named = {name for page in pages() for name in re.findall(r"`(broker_\w+|dead_job_count)[`{]", read(page))}
    listed = read("docs/metrics.md")
    assert len(named) > 10
    assert [name for name in sorted(named - NOT_METRICS) if name not in listed] == []


def test_every_setting_of_the_table_on_scaling_exists_and_has_that_default() -> None:
    table = read("docs/scaling.md").split("\n## What to set\n")[1].split("\n## ")[0]
    rows = [row for row in table.splitlines() if row.startswith("| `")]
    keys = [key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert len(keys) >= 8
    assert [key for key in keys if key not in BY_KEY] == []
    assert (BY_KEY["database_pool"].default, BY_KEY["delivery_concurrency"].default) == (10, 256)
    assert (BY_KEY["consumer_concurrency"].default, BY_KEY["lease"].default) == (64, 60)
    assert BY_KEY["dlq_summary_interval"].default == 600
