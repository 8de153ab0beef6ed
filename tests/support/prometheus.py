"""A real Prometheus with what ships in deploy/prometheus.

Four things differ: the addresses, the time between two looks, that rules wait seconds for minutes, and that the lines
for the monitor token are in force.
"""

import math
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from broker.runtime.ports import free_port
from tests.support.brokers import START_SECONDS, wait_until
from tests.support.tools import path_of

SHIPPED = Path(__file__).parents[2] / "deploy" / "prometheus"
SHIPPED_TARGETS = 'targets: ["127.0.0.1:8080"]'
STEP_SECONDS = 1


def with_targets(config: str, addresses: Sequence[str]) -> str:
    """The configuration for other brokers, looked at every second."""
    assert config.count(SHIPPED_TARGETS) == 1
    quoted = ", ".join(f'"{address}"' for address in addresses)
    faster, changed = re.subn(r"_interval: 15s$", f"_interval: {STEP_SECONDS}s", config, flags=re.MULTILINE)
    assert changed == 2
    return faster.replace(SHIPPED_TARGETS, f"targets: [{quoted}]")


def with_token(config: str) -> str:
    """The configuration for brokers with a monitor token: the two lines for it are in force."""
    lines = "    # authorization:\n    #   credentials_file: monitor-token\n"
    assert config.count(lines) == 1
    return config.replace(lines, lines.replace("    # ", "    "))


def with_seconds(rules: str) -> str:
    """Rules that wait as many seconds as they would wait minutes; no expression changes."""
    quicker, changed = re.subn(r"^( +for: \d+)m$", r"\1s", rules, flags=re.MULTILINE)
    assert changed == rules.count("- alert: ")
    return quicker


def configure(folder: Path, addresses: Sequence[str], token: str) -> Path:
    """Write the configuration for these brokers; gives its file."""
    (folder / "monitor-token").write_text(token)
    config = folder / "prometheus.yml"
    config.write_text(with_token(with_targets((SHIPPED / "prometheus.yml").read_text(), addresses)))
    return config


def copy_shipped(folder: Path, addresses: Sequence[str], token: str) -> Path:
    """What ships, in another folder; gives the configuration."""
    (folder / "rules").mkdir(parents=True)
    for file in (SHIPPED / "rules").glob("*.yml"):
        (folder / "rules" / file.name).write_text(with_seconds(file.read_text()))
    return configure(folder, addresses, token)


class Prometheus:
    """The server, with its data in a folder of its own."""

    def __init__(self, folder: Path, addresses: Sequence[str], token: str) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = folder / "prometheus.log"
        options = {
            "config.file": copy_shipped(folder / "shipped", addresses, token),
            "storage.tsdb.path": folder / "data",
            "web.listen-address": self.url.removeprefix("http://"),
        }
        command = [str(path_of("prometheus")), *(f"--{name}={value}" for name, value in options.items())]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until(self._is_ready, START_SECONDS, lambda: self.log.read_text()[-3000:])
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(START_SECONDS)

    def alerts(self, name: str) -> list[dict[str, Any]]:
        """Those of this name that are pending or firing, as /api/v1/alerts tells them."""
        return [one for one in self._ask("alerts", {})["alerts"] if one["labels"]["alertname"] == name]

    def firing(self, name: str) -> list[dict[str, Any]]:
        return [one for one in self.alerts(name) if one["state"] == "firing"]

    def evaluated_at(self, name: str) -> str:
        """When this alert's rule was last looked at."""
        groups = self._ask("rules", {"type": "alert"})["groups"]
        (found,) = [rule for group in groups for rule in group["rules"] if rule["name"] == name]
        return str(found["lastEvaluation"])

    def query(self, expr: str) -> list[dict[str, Any]]:
        """What an expression gives now."""
        found: list[dict[str, Any]] = self._ask("query", {"query": expr})["result"]
        return found

    def value(self, expr: str) -> float | None:
        """That of an expression with one result; None when it has none."""
        found = self.query(expr)
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else None

    def greatest(self, expr: str, since: float) -> float | None:
        """The greatest value of any series since that time; None when there is no number among them."""
        span = {"query": expr, "start": str(since), "end": str(time.time()), "step": str(STEP_SECONDS)}
        series = self._ask("query_range", span)["result"]
        values = [float(value) for one in series for _, value in one["values"]]
        return max((one for one in values if not math.isnan(one)), default=None)

    def label_values(self, label: str, selector: str) -> list[str]:
        """What label_values() of a dashboard's variable offers."""
        found: list[str] = self._ask(f"label/{label}/values", {"match[]": selector})
        return found

    def _ask(self, what: str, query: Mapping[str, str]) -> Any:
        answer = httpx.get(f"{self.url}/api/v1/{what}", params=dict(query), timeout=10)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def _is_ready(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"Prometheus ended at its start: {self.log.read_text()[-3000:]}")
        try:
            return httpx.get(f"{self.url}/-/ready", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False
