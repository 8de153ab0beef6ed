"""The Datadog monitors that ship are documents that its monitor API takes, and ask what they say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

MONITORS = sorted((Path(__file__).parents[2] / "deploy" / "datadog" / "monitors").glob("*.json"))
FIELDS = {"name", "type", "query", "message", "tags", "priority", "options"}
OPTIONS = {"thresholds", "include_tags", "notify_audit", "require_full_window", "notify_no_data", "no_data_timeframe"}
QUERY = re.compile(r"(avg|min|max|sum)\(last_(\d+)m\):(.+) ([<>]) ([0-9.]+)")


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_there_is_a_monitor_of_everything_that_can_go_wrong() -> None:
    assert {path.stem for path in MONITORS} == {
        "checkpoint-age", "depth", "drift", "growth", "no-data", "oldest", "stale", "success-rate", "unreachable",
        "utilisation",
    }  # fmt: skip


@pytest.mark.parametrize("path", MONITORS, ids=lambda path: path.stem)
def test_a_monitor_has_the_fields_of_the_api(path: Path) -> None:
    found = read(path)
    assert (set(found), set(found["options"]) - OPTIONS) == (FIELDS, set())
    assert found["type"] in {"query alert", "service check"}
    assert found["priority"] in range(1, 6)
    assert found["message"].endswith((".", "?"))
    assert ("no_data_timeframe" in found["options"]) == found["options"]["notify_no_data"]


@pytest.mark.parametrize("path", [one for one in MONITORS if one.stem != "unreachable"], ids=lambda path: path.stem)
def test_a_querys_limit_is_its_critical_threshold_and_comes_after_its_warning(path: Path) -> None:
    found = read(path)
    asked = QUERY.fullmatch(found["query"])
    assert asked is not None
    limits = found["options"]["thresholds"]
    assert float(asked[5]) == limits["critical"]
    if "warning" in limits:
        assert (limits["warning"] < limits["critical"]) == (asked[4] == ">")


@pytest.mark.parametrize("path", MONITORS, ids=lambda path: path.stem)
def test_a_monitor_names_only_tags_that_its_query_groups_by(path: Path) -> None:
    found = read(path)
    groups = {tag for listed in re.findall(r"by \{([a-z,]+)\}", found["query"]) for tag in listed.split(",")}
    groups |= set(re.findall(r'by\("([a-z]+)"\)', found["query"]))
    assert set(re.findall(r"\{\{([a-z]+)\.name\}\}", found["name"] + found["message"])) <= groups
