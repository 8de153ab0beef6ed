"""The shipped configuration and rules, by promtool; and that no rule can be changed without its unit tests noticing."""

import copy
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.tools import path_of

SHIPPED = Path(__file__).parents[2] / "deploy" / "prometheus"
RULE_FILES = sorted((SHIPPED / "rules").glob("*.yml"))
NAMES = [
    "BrokerGone", "DLQCheckpointLate", "DLQDepthHigh", "DLQDrift", "DLQGrowing", "DLQOldestDeadTooOld", "DLQUnknown",
    "DLQUtilizationHigh", "DeliveryBurnRateHigh", "DeliverySuccessLow", "QueueOldestDueLate",
]  # fmt: skip
_LIMIT = re.compile(r"(?<=[>=] )(\d+(?:\.\d+)?)")
pytestmark = pytest.mark.tool("promtool")


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [path_of("promtool"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def rules_of(file: Path) -> list[dict[str, Any]]:
    """All rules of a file, those that record too."""
    return [rule for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for file in RULE_FILES for rule in rules_of(file) if "alert" in rule]


def test_the_configuration_and_the_rules_are_valid_and_need_no_advice() -> None:
    config = promtool("check", "config", "--lint=all", "--lint-fatal", SHIPPED / "prometheus.yml")
    assert config.returncode == 0, config.stdout + config.stderr
    assert f"{len(RULE_FILES)} rule files found" in config.stdout
    rules = promtool("check", "rules", "--lint=all", "--lint-fatal", *RULE_FILES)
    assert rules.returncode == 0, rules.stdout + rules.stderr


def test_the_alerts_are_those_that_the_documents_name() -> None:
    assert sorted({rule["alert"] for rule in alerts()}) == NAMES


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: f"{rule['alert']}-{rule['labels']['severity']}")
def test_an_alert_says_how_bad_it_is_what_it_means_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["for"]
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"


@pytest.mark.parametrize("file", RULE_FILES, ids=lambda file: file.stem)
def test_the_unit_tests_pass(file: Path) -> None:
    done = promtool("test", "rules", SHIPPED / "tests" / file.name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", RULE_FILES, ids=lambda file: file.stem)
def test_the_unit_tests_fail_when_a_rule_is_changed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / file.name).write_text((SHIPPED / "tests" / file.name).read_text())
    unnoticed = []
    for what, changed in changes(yaml.safe_load(file.read_text())):
        (tmp_path / "rules" / file.name).write_text(yaml.safe_dump(changed))
        if promtool("test", "rules", tmp_path / "tests" / file.name).returncode == 0:
            unnoticed.append(what)
    assert unnoticed == []


def changes(rules: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The file with one thing different: a rule is gone, fires at once, or has another limit."""
    for at, group in enumerate(rules["groups"]):
        for number, rule in enumerate(group["rules"]):
            name = f"{rule.get('alert') or rule['record']} {number}"
            for how, replaced in variants(rule):
                changed = copy.deepcopy(rules)
                changed["groups"][at]["rules"][number : number + 1] = replaced
                yield f"{name}: {how}", changed


def variants(rule: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield "gone", []
    if "for" in rule:
        yield "at once", [{**rule, "for": "0s"}]
    for factor in (0.5, 2.0):
        for limit in _LIMIT.finditer(rule["expr"]):
            if float(limit[0]) and "==" not in rule["expr"][: limit.start()][-4:]:
                expr = rule["expr"][: limit.start()] + str(float(limit[0]) * factor) + rule["expr"][limit.end() :]
                yield f"{limit[0]} times {factor}", [{**rule, "expr": expr}]


def test_the_page_tells_how_long_and_how_bad_as_the_rules_do() -> None:
    page = (SHIPPED.parents[1] / "docs" / "monitoring-prometheus.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.endswith(("warning |", "critical |"))
    ]
    told, name = [], ""
    for link, _, wait, severity in rows:
        name = link[1:].partition("]")[0] if link else name
        told.append((name, wait.replace(" ", ""), severity))
    assert sorted(told) == sorted((rule["alert"], rule["for"], rule["labels"]["severity"]) for rule in alerts())
