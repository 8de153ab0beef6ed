"""A real Nagios takes what deploy/nagios holds as it is, and tells what becomes of the dead of a running broker."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.brokers import ADMIN, LiveBroker, make_broker
from tests.support.nagios import DEPLOYED, EXAMPLE, Nagios
from tests.support.plugins import PluginOutput
from tests.support.tools import path_of

pytestmark = [pytest.mark.tool("nagios", "check_http"), pytest.mark.alone]
MONITOR_TOKEN = "monitor-token-of-the-resource-file"
OK, CRITICAL, UNKNOWN = "0", "2", "3"
SECONDS = 90


@pytest.fixture
def live(sqlite_url: str, tmp_path: Path) -> Iterator[LiveBroker]:
    """A broker with a channel and a consumer."""
    make_broker(sqlite_url).parts.database.dispose()
    started = LiveBroker(sqlite_url, tmp_path / "broker.log", BROKER_MONITOR_TOKEN=MONITOR_TOKEN)
    for path, fields in (
        ("producer/shop", {"token": "shop-token"}),
        ("channel/orders", {"token": "orders-token"}),
        ("channel/orders/consumer/billing", {"type": "pull", "token": "billing-token"}),
    ):
        call(started, "PUT", path, fields)
    yield started
    if started.process.poll() is None:
        started.kill()


@pytest.fixture
def nagios(live: LiveBroker, tmp_path: Path) -> Iterator[Nagios]:
    """Its host is the running broker; its macros are those of the resource file."""
    folder = tmp_path / "nagios"
    folder.mkdir()
    made = Nagios(folder, host_of(live), macros())
    yield made
    made.stop()


def test_the_configuration_is_good(nagios: Nagios) -> None:
    code, told = nagios.verify()
    assert code == 0, told
    assert re.search(r"Checked 6 services\.", told)
    assert re.search(r"Total Warnings: 0\nTotal Errors: +0\n", told), told


def test_the_example_of_a_host_and_the_resource_file_are_good(tmp_path: Path) -> None:
    folder = tmp_path / "nagios"
    folder.mkdir()
    resource = dict(re.findall(r"^\$(\w+)\$=(.+)$", (DEPLOYED / "resource.cfg.example").read_text(), re.MULTILINE))
    assert set(resource) == set(macros()) - {"USER1"}
    host = EXAMPLE.read_text().replace("broker.example", "127.0.0.1")
    code, told = Nagios(folder, host, {**macros(), **resource}).verify()
    assert (code, "Total Errors:   0" in told) == (0, True), told


def test_what_becomes_of_the_dead_is_told(nagios: Nagios, live: LiveBroker) -> None:
    nagios.start()
    found = nagios.wait_for(
        SECONDS, DLQ_count=OK, DLQ_oldest=OK, DLQ_growth=OK, DLQ_checkpoint=OK, DLQ_empty=OK, DLQ_billing=OK
    )
    assert output(found["DLQ count"]).text == "orders/billing: 0 dead"
    assert found["DLQ empty"]["plugin_output"].startswith("HTTP OK: HTTP/1.1 200 OK")

    many_die(live, 101)
    found = nagios.wait_for(SECONDS, DLQ_count=CRITICAL, DLQ_growth=CRITICAL, DLQ_oldest=OK, DLQ_empty=CRITICAL)
    told = output(found["DLQ count"])
    assert told.text == "orders/billing: 101 dead (critical range 100)"
    assert (told.figures["orders/billing"].value, told.figures["orders/billing"].critical) == (101, "100")
    billing = output(nagios.wait_for(SECONDS, DLQ_billing="1")["DLQ billing"])
    assert billing.text == "orders/billing: 101 dead (warning range 100)"
    assert output(found["DLQ oldest"]).figures["orders/billing"].unit == "s"
    assert "pattern found" in found["DLQ empty"]["plugin_output"]

    assert live.stop() == 0
    found = nagios.wait_for(
        SECONDS, DLQ_count=UNKNOWN, DLQ_oldest=UNKNOWN, DLQ_growth=UNKNOWN, DLQ_checkpoint=UNKNOWN, DLQ_empty=CRITICAL
    )
    assert output(found["DLQ count"]).text.startswith(f"Cannot reach a broker at {live.url} (")


def host_of(live: LiveBroker) -> str:
    """What stands in broker-host.cfg, of this broker, and a consumer with ranges of its own, as the page about it says.

    Without a check of its own a host is taken to be up.
    """
    return f"""define host {{
    use                 generic-host
    host_name           broker
    address             127.0.0.1
    hostgroups          brokers
    max_check_attempts  3
    contact_groups      admins
    _BROKER_URL         {live.url}
    _BROKER_PORT        {live.port}
}}
define service {{
    use                 broker-service
    host_name           broker
    hostgroup_name      null
    service_description DLQ billing
    check_command       check_broker_dlq_consumer!count!100!1000!orders!billing
}}
"""


def macros() -> dict[str, str]:
    return {
        "USER1": str(path_of("check_http").parent),
        "USER5": MONITOR_TOKEN,
        "USER6": str(Path(sys.executable).parent / "broker"),
    }


def output(service: dict[str, str]) -> PluginOutput:
    """What the plugin printed, as Nagios keeps it in two parts."""
    return PluginOutput.parse(" | ".join(filter(None, (service["plugin_output"], service["performance_data"]))))


def many_die(live: LiveBroker, count: int) -> None:
    """They have made too many hops."""
    body = {"messages": [{"payload": "x", "hopCount": 21}] * count}
    headers = {"X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "shop-token",
               "X-Broker-Channel-Token": "orders-token"}  # fmt: skip
    assert call(live, "POST", "channel/orders/broadcast-batch", body, **headers)["created"] == count


def call(live: LiveBroker, method: str, path: str, body: object, **headers: str) -> Any:
    answer = httpx.request(method, f"{live.url}/{path}", json=body, headers={**ADMIN, **headers}, timeout=30)
    answer.raise_for_status()
    return answer.json()
