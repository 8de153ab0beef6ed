"""Runs the Datadog Agent's OpenMetrics check once with a configuration file, and prints what it submitted.

It is run by the Python of an environment of its own, for the check's pins are not ours.
"""

import json
import sys
from pathlib import Path

import yaml
from datadog_checks.base import OpenMetricsBaseCheckV2
from datadog_checks.base.stubs import aggregator


def main() -> None:
    """Every instance of the file, as the Agent would."""
    conf = yaml.safe_load(Path(sys.argv[1]).read_text())
    for instance in conf["instances"]:
        check = OpenMetricsBaseCheckV2("openmetrics", conf["init_config"] or {}, [instance])
        problem = check.run()
        if problem:
            sys.stderr.write(problem)
    sys.stdout.write(json.dumps({"metrics": _metrics(), "checks": _checks()}))


def _metrics() -> list[dict[str, object]]:
    found = [one for name in aggregator.metric_names for one in aggregator.metrics(name)]
    buckets = [one for name in vars(aggregator)["_histogram_buckets"] for one in aggregator.histogram_bucket(name)]
    values = [{"name": one.name, "value": one.value, "tags": sorted(one.tags), "type": one.type} for one in found]
    return values + [{"name": one.name, "value": one.value, "tags": sorted(one.tags), "type": None} for one in buckets]


def _checks() -> list[dict[str, object]]:
    found = [one for name in aggregator.service_check_names for one in aggregator.service_checks(name)]
    return [{"name": one.name, "status": one.status, "tags": sorted(one.tags)} for one in found]


if __name__ == "__main__":
    main()
