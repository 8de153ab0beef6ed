"""The shipped dashboard and its provisioning: as Grafana's own types want them, and laid out well.

That every query gives data is tested in test_prometheus.py, with a Prometheus that watches a broker.
"""

import copy
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.grafana import problems
from tests.support.panels import dashboard

ROOT = Path(__file__).parents[2] / "deploy"
GRAFANA = ROOT / "grafana"
DASHBOARD = dashboard()
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
VARIABLES: list[dict[str, Any]] = DASHBOARD["templating"]["list"]
BUILT_IN = {"__rate_interval"}
GRID_COLUMNS = 24
typed = pytest.mark.tool("grafana-foundation-sdk")


@typed
def test_the_dashboard_is_as_the_types_of_grafana_want_it() -> None:
    assert problems(DASHBOARD) == []


@typed
@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("refresh",), 30, "dashboard.refresh is 30"),
        (("panels", 0, "gridPos", "h"), "4", "dashboard.panels[0].grid_pos.h is '4'"),
        (("panels", 0, "optoins"), {}, "dashboard.panels[0].optoins is not known"),
        (("panels", 0, "options", "colorMode"), "loud", "dashboard.panels[0].options.color_mode is 'loud'"),
        (("panels", 0, "targets", 0, "expression"), "up", "dashboard.panels[0].targets[0].expression is not known"),
        (("panels", 0, "fieldConfig", "defaults", "min"), "0", "dashboard.panels[0].field_config.defaults.min_val is"),
        (("templating", "list", 0, "type"), "choice", "dashboard.templating.list_val[0].type_val is 'choice'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_dashboard_is_found(place: tuple[Any, ...], value: Any, told: str) -> None:
    spoilt = inner = copy.deepcopy(DASHBOARD)
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (found,) = problems(spoilt)
    assert found.startswith(told)


def test_each_panel_has_a_number_and_a_place_of_its_own() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS) >= 20
    assert [panel["title"] for panel in PANELS if _right(panel) > GRID_COLUMNS] == []
    assert [(one["title"], other["title"]) for one, other in combinations(PANELS, 2) if _overlap(one, other)] == []


def test_each_panel_says_what_it_shows_and_asks_the_chosen_data_source() -> None:
    for panel in PANELS:
        if panel["type"] != "row":
            assert panel["description"], panel["title"]
            assert panel["targets"], panel["title"]
            assert {one["datasource"]["uid"] for one in (panel, *panel["targets"])} == {"${datasource}"}


def test_every_variable_is_used_and_every_one_used_is_there() -> None:
    used = set(re.findall(r"\$\{?(\w+)", json.dumps([PANELS, VARIABLES])))
    assert used == {one["name"] for one in VARIABLES} | BUILT_IN | {"__all"}
    assert {one["name"] for one in VARIABLES} == {"datasource", "broker", "channel", "consumer"}


def test_what_all_instances_tell_alike_is_never_added_up() -> None:
    alike = re.compile(
        r"sum(?: by \([^)]*\) )?\((?:rate\(|increase\()?(dead_job_count|broker_dlq_|broker_queue_|broker_inf)"
    )
    own = re.compile(r"max(?: by \([^)]*\) )?\((?:rate\()?broker_(deliveries|delivery|failures|messages|jobs)_")
    for panel in PANELS:
        for target in panel.get("targets", []):
            assert not alike.search(target["expr"]), panel["title"]
            assert not own.search(target["expr"]), panel["title"]


def test_the_data_source_knows_how_often_prometheus_looks() -> None:
    (source,) = _read(GRAFANA / "provisioning" / "datasources" / "prometheus.yml")["datasources"]
    config = _read(ROOT / "prometheus" / "prometheus.yml")
    assert source["type"] == "prometheus"
    assert source["jsonData"]["timeInterval"] == config["global"]["scrape_interval"]


def test_the_provider_reads_a_folder_of_dashboards() -> None:
    (provider,) = _read(GRAFANA / "provisioning" / "dashboards" / "broker.yml")["providers"]
    assert (provider["type"], provider["options"]["path"]) == ("file", "/var/lib/grafana/dashboards")


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found


def _right(panel: dict[str, Any]) -> int:
    return int(panel["gridPos"]["x"] + panel["gridPos"]["w"])


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    a, b = one["gridPos"], other["gridPos"]
    across = a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
    return bool(across and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"])
