"""The queries of the shipped dashboard, as Grafana sends them when something is chosen."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards" / "broker.json"


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def queries(chosen: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each panel's title and legend, and its query with these values for the variables."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            yield f"{panel['title']}: {target['legendFormat']}", _filled(target["expr"], chosen)


def choices(chosen: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Each variable that is asked of Prometheus, with the selector and the label of its question."""
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            asked = re.fullmatch(r"label_values\((.*), (\w+)\)", _filled(variable["query"]["query"], chosen))
            assert asked is not None, variable
            yield variable["name"], asked[1], asked[2]


def _filled(text: str, chosen: Mapping[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda name: chosen[name[1]], text)
